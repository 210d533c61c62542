// Affiliated asynchronous events (IBTA 11.6.3) that the engine raises. The owner of the queue pair
// translates them for its guest.

#pragma once

#include <cstdint>

namespace paravane::verbs {

enum class QpEvent : std::uint8_t {
  kFatal,
  kRequestError,  // the responder could not make sense of a request
  kAccessError,   // the responder refused an access
  kCommunicationEstablished,
  kSendQueueDrained,
  kLastReceiveReached,  // in ERR, and takes no more from its shared receive queue
};

class QpEvents {
 public:
  virtual ~QpEvents() = default;
  // `tag` is QueuePairSpec::tag. Must not destroy the queue pair.
  virtual void on_qp_event(std::uint32_t tag, QpEvent event) = 0;
};

}  // namespace paravane::verbs
