// MessageStream splits the bytes of a stream socket into messages. fill() reads the bytes that the
// socket has received, which can be a part of a message or many messages. next() returns complete
// messages. A message with an impossible size ends the stream, because the start of the next
// message cannot be found.
//
// Bytes stay in the socket until settle() takes out the messages that have been dealt with. Another
// process that gets the socket, even from one that was killed, therefore finds the first message
// that was not, with its descriptors.
//
// Descriptors arrive together with bytes. The kernel ends a read after the data of the send that
// carried the descriptors, so they belong to the message that contains the last byte of that read.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
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

  // Looks once at what `socket` has received since. It may move bytes, so payloads returned earlier
  // become invalid. REQUIRES: next() has just returned nullopt.
  Fill fill(int socket);

  // Takes what next() has returned out of `socket`. False: it is not there any more, because
  // another process reads from the socket.
  bool settle(int socket);

  // Returns the next complete message; nullopt: call fill(). Errors: the text names the impossible
  // size.
  std::expected<std::optional<Request>, std::string> next();

  // Whether next() would return a message or an error without another fill().
  bool has_next() const;
  // Whether there are bytes that next() has not returned.
  bool has_bytes() const { return end_ > begin_; }

  // Whether `socket` has this request at its front. Another process may have taken it out.
  bool begins_with(int socket, const Header& request);
  // The request at the front was dealt with by another process. REQUIRES: nothing was read.
  void leave_out(const Header& request) {
    unsettled_ = std::min<std::uint64_t>(request.size.get(), kMostUnsettled);
  }
  bool has_unsettled() const { return unsettled_ > 0; }

  // How many bytes of the socket next() has returned and settle() has not taken out.
  void save(state::Writer& out) const;
  // REQUIRES: nothing was read.
  void load(state::Reader& in);

 private:
  struct Arrived {
    std::uint64_t position = 0;  // in the stream, of the last byte they came with
    std::vector<UniqueFd> fds;
    bool lost = false;
  };

  static constexpr std::uint64_t kMostUnsettled = kMaxMessageBytes;

  std::optional<Header> header() const;
  bool look_from(int socket, std::uint64_t offset);
  static bool possible(const Header& header);
  void make_room();
  void merge_arrived();
  void take_descriptors(Request& request);

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;         // of what is not handed out yet
  std::size_t end_ = 0;           // of what has been read
  std::uint64_t handed_out_ = 0;  // stream position of begin_
  std::uint64_t unsettled_ = 0;   // bytes before that, which are in the socket yet
  bool looks_ = false;            // the socket knows where fill() reads on
  std::vector<Arrived> arrived_;  // at most two: of the first message, and of the last read
};

}  // namespace paravane::vfio_user
