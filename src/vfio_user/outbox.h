// Outbox holds the response that is being sent to a client. No further request is processed until
// this response has been sent completely. A client that stops reading therefore uses only the
// memory of one response.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/exchange.h"

namespace paravane::vfio_user {

class Outbox {
 public:
  enum class Sent : std::uint8_t {
    kAll,
    kLater,   // the socket is full: call flush() when it is writable
    kFailed,  // errno says why
  };

  // Responses without a descriptor are sent by `exchange` from now on, which outlives us.
  void send_by(Exchange& exchange) { exchange_ = &exchange; }

  // `fd` (or -1) is sent with the first byte. It is not owned, and must stay open while pending().
  // REQUIRES: !pending().
  Sent send(int socket, std::span<const std::byte> message, int fd);
  Sent flush(int socket);

  bool pending() const { return sent_ < rest_.size(); }

  // Sends it with flush(). REQUIRES: send_by(); !pending().
  void send_later(std::span<const std::byte> message);
  // `lent`: the descriptors that a response may carry, -1 for none. The state says which one of
  // them waits, and carries none itself. REQUIRES: pending().
  void save(state::Writer& out, std::span<const int> lent) const;
  // `lent`: those of this process, in the same order.
  void load(state::Reader& in, std::span<const int> lent);

 private:
  Sent send_by_file(int socket);

  Exchange* exchange_ = nullptr;
  bool by_file_ = false;  // what is pending
  std::vector<std::byte> rest_;
  std::size_t sent_ = 0;
  int fd_ = -1;
};

}  // namespace paravane::vfio_user
