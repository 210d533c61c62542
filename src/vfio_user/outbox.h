// Outbox: the response that is being sent to a client.
//
// One at a time: until it has been sent completely, no further request is processed, so a client
// that stops reading costs the memory of one response and nothing else.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paravane::vfio_user {

class Outbox {
 public:
  enum class Sent : std::uint8_t {
    kAll,
    kLater,   // the socket is full: flush() when it can take more
    kFailed,  // errno says why
  };

  // `fd` (or -1) travels with the first byte; it is borrowed, and must stay open
  // while pending(). REQUIRES: !pending().
  Sent send(int socket, std::span<const std::byte> message, int fd);
  Sent flush(int socket);

  bool pending() const { return sent_ < rest_.size(); }

 private:
  std::vector<std::byte> rest_;
  std::size_t sent_ = 0;
  int fd_ = -1;
};

}  // namespace paravane::vfio_user
