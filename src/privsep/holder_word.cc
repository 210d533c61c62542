#include "privsep/holder_word.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::privsep {
namespace {

// One byte, and room for one descriptor.
struct Envelope {
  char what = 0;
  iovec data{.iov_base = &what, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> ancillary{};
  msghdr message{.msg_name = nullptr,
                 .msg_namelen = 0,
                 .msg_iov = &data,
                 .msg_iovlen = 1,
                 .msg_control = ancillary.data(),
                 .msg_controllen = ancillary.size(),
                 .msg_flags = 0};

  Envelope() = default;
  Envelope(const Envelope&) = delete;  // it points into itself
  Envelope& operator=(const Envelope&) = delete;
};

UniqueFd line_of(const msghdr& message) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return {};
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return UniqueFd(fd);
}

}  // namespace

bool say_to_holder(int holder, HolderWord::What what, int line) {
  Envelope envelope;
  envelope.what = static_cast<char>(what);
  cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof line);
  std::memcpy(CMSG_DATA(header), &line, sizeof line);
  return ::sendmsg(holder, &envelope.message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

std::optional<HolderWord> hear_keeper(int keeper) {
  Envelope envelope;
  const ssize_t size = ::recvmsg(keeper, &envelope.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return HolderWord{};
  if (size <= 0) return std::nullopt;
  UniqueFd line = line_of(envelope.message);
  if (!line) return HolderWord{};
  return HolderWord{.what = HolderWord::What{envelope.what}, .line = std::move(line)};
}

}  // namespace paravane::privsep
