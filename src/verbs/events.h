// Defines the affiliated asynchronous events of a queue pair (IBTA 11.6.3), and the interface
// through which the engine reports them. The owner of the queue pair converts them to the form that
// its guest expects.

#pragma once

#include <cstdint>

namespace paravane::verbs {

enum class QpEvent : std::uint8_t {
  kFatal,
  kRequestError,  // the responder could not make sense of a request
  kAccessError,   // the responder refused an access
  kCommunicationEstablished,
  kSendQueueDrained,
  kLastReceiveReached,  // in ERR, it takes no more receives from its shared receive queue
};

class QpEvents {
 public:
  virtual ~QpEvents() = default;
  // `tag` is QueuePairSpec::tag. Must not destroy the queue pair.
  virtual void on_qp_event(std::uint32_t tag, QpEvent event) = 0;
};

}  // namespace paravane::verbs
