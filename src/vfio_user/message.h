// Request is a message from the VMM, and Reply is the message that answers it.
//
// A Request's payload is a part of the connection's buffer, so it is valid only until the handler
// returns. A Reply is built as one block, header first, so that one call can send it. Its buffer is
// reused for the next Reply.
//
// Owner thread only.

#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <span>
#include <type_traits>
#include <vector>

#include "base/unique_fd.h"
#include "vfio_user/pci_device.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

// False for a reply, and for a command with the flag "no reply".
inline bool wants_answer(const Header& header) {
  const std::uint32_t flags = header.flags.get();
  return (flags & Header::kNoReply) == 0 && (flags & Header::kTypeMask) != Header::kTypeReply;
}

struct Request {
  Header header;
  std::span<const std::byte> payload;
  std::vector<UniqueFd> fds;
  // True: descriptors that came with the message were lost (more than the announced limit, or our
  // descriptor table is full). The bytes are complete nevertheless.
  bool fds_lost = false;

  Command command() const { return static_cast<Command>(header.command.get()); }
  bool posted() const { return (header.flags.get() & Header::kNoReply) != 0; }
};

// The result of a request: it is answered now or later, or refused with an errno.
using Handled = std::expected<Answer, int>;

inline std::unexpected<int> refuse(int error) {
  return std::unexpected(error);
}

class Reply {
 public:
  void clear() {
    bytes_.resize(sizeof(Header));
    fd_ = -1;
  }

  template <typename T>
  void append(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
    std::memcpy(append_space(sizeof value).data(), &value, sizeof value);
  }

  // Zeroed; valid until the next append.
  std::span<std::byte> append_space(std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    return std::span(bytes_).subspan(at);
  }

  // Borrowed: must stay open until the reply is sent.
  void attach_fd(int fd) { fd_ = fd; }
  int fd() const { return fd_; }

  // Fills in the header. `error` 0 means success; a reply with an error has no payload.
  std::span<const std::byte> finish(const Header& request, int error) {
    if (error != 0) clear();
    const Header header{
        .id = request.id,
        .command = request.command,
        .size = Le32(static_cast<std::uint32_t>(bytes_.size())),
        .flags = Le32(Header::kTypeReply | (error != 0 ? Header::kError : 0)),
        .error = Le32(static_cast<std::uint32_t>(error)),
    };
    std::memcpy(bytes_.data(), &header, sizeof header);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(sizeof(Header));
  int fd_ = -1;
};

}  // namespace paravane::vfio_user
