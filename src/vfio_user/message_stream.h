// MessageStream splits the bytes of a stream socket into messages. fill() reads the bytes that the
// socket has received, which can be a part of a message or many messages. next() returns complete
// messages. A message with an impossible size ends the stream, because the start of the next
// message cannot be found.
//
// Descriptors arrive together with bytes. The kernel ends a read after the data of the send that
// carried the descriptors, so they belong to the message that contains the last byte of that read.
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
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/message.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

class MessageStream {
 public:
  // Reserves all the space that arrived_ needs, so that a lack of memory cannot lose what was read.
  MessageStream() { arrived_.reserve(2); }

  enum class Fill : std::uint8_t {
    kMore,     // bytes came and the socket may have more
    kDrained,  // bytes came, fewer than there was room for
    kEmpty,    // nothing there now
    kClosed,   // the peer has gone
    kFailed,   // errno says why
  };

  // Reads once from `socket`. It may move bytes, so payloads returned earlier become invalid.
  // REQUIRES: next() has just returned nullopt.
  Fill fill(int socket);

  // Returns the next complete message; nullopt: call fill(). Errors: the text names the impossible
  // size.
  std::expected<std::optional<Request>, std::string> next();

  // Whether next() would return a message or an error without another fill().
  bool has_next() const;
  // Whether there are bytes that next() has not returned.
  bool has_bytes() const { return end_ > begin_; }

  // The bytes that next() has not returned, and the descriptors that came with them.
  void save(state::Writer& out, state::Descriptors& descriptors) const;
  // REQUIRES: nothing was read.
  void load(state::Reader& in, state::Descriptors& descriptors);

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
