// MessageStream: splits the bytes of a stream socket into messages.
//
// The kernel may return half a message or fifty; descriptors arrive alongside the bytes. fill()
// reads whatever the socket has, next() returns whole messages. An impossible size ends the
// stream, because the start of the next message can no longer be found.
//
// Which message do descriptors belong to? The kernel ends a read behind the send that carried
// them, so they belong to the message that holds the last byte of that read.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "vfio_user/message.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

class MessageStream {
 public:
  // Room for all that arrived_ holds, so that nothing which was read is lost.
  MessageStream() { arrived_.reserve(2); }

  enum class Fill : std::uint8_t {
    kMore,     // bytes came and the socket may have more
    kDrained,  // bytes came, fewer than there was room for
    kEmpty,    // nothing there now
    kClosed,   // the peer has gone
    kFailed,   // errno says why
  };

  // One read from `socket`. Moves bytes, so payloads handed out before are void.
  // REQUIRES: next() has just said that there is no whole message.
  Fill fill(int socket);

  // The next whole message; nullopt: call fill(). Errors: the text says which
  // size is impossible.
  std::expected<std::optional<Request>, std::string> next();

  // Whether next() has something to say without another fill().
  bool has_next() const;
  // Whether bytes wait that next() has not handed out.
  bool has_bytes() const { return end_ > begin_; }

 private:
  struct Arrived {
    std::uint64_t position = 0;  // in the stream, of the last byte they came with
    std::vector<UniqueFd> fds;
    bool lost = false;
  };

  std::optional<Header> header() const;
  static bool possible(const Header& header);
  void make_room();
  void merge_arrived();
  void take_descriptors(Request& request);

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;         // of what is not handed out yet
  std::size_t end_ = 0;           // of what has been read
  std::uint64_t handed_out_ = 0;  // stream position of begin_
  std::vector<Arrived> arrived_;  // at most two: of the first message, and of the last read
};

}  // namespace paravane::vfio_user
