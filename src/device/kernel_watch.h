// KernelWatch: checks the send rings of queue pairs of the guest's kernel that were busy a moment
// ago, with or without a doorbell.
//
// The kernel's doorbell page is trapped, so each of its doorbells is a message, which arrives some
// microseconds after the request was posted. A kernel that posts one request after the other, as
// NVMe over Fabrics does, has its next request executed before its message arrives. The message
// then finds nothing to do. A doorbell that arrives is in force as before, so nothing depends on
// this watch.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>

#include "base/turn_clock.h"
#include "device/queue_pair.h"

namespace paravane::device {

class KernelWatch {
 public:
  explicit KernelWatch(const TurnClock& clock) : clock_(clock) {}

  // A doorbell of the queue pair has arrived.
  void on_doorbell(QueuePair& qp);
  // Checks the rings. Call it before the queue pairs work.
  void look();
  // The queue pair is about to be destroyed.
  void forget(const QueuePair& qp);
  // All queue pairs are about to be destroyed.
  void clear() { busy_ = {}; }

  // The time at which look() must be called next; kNever: no queue pair was busy a moment ago.
  Instant next_due() const;

 private:
  static constexpr std::size_t kBusyQueuePairs = 8;
  // About the time from one command of a storage client to the next.
  static constexpr Duration kAfterWork = std::chrono::microseconds(100);
  static constexpr Duration kInterval = std::chrono::nanoseconds(100);

  struct Busy {
    QueuePair* qp = nullptr;
    Instant last_work{};
  };

  const TurnClock& clock_;
  std::array<Busy, kBusyQueuePairs> busy_{};
  std::size_t next_ = 0;  // the entry that the next new queue pair replaces
  Instant until_{};       // the time at which the last one is no longer checked
};

}  // namespace paravane::device
