// CompletionEvents: notifies the guest of completions. The guest arms a completion queue to request
// one notification. When an armed queue gets a completion that the arm waits for, one entry is
// written to the notification ring, one interrupt is raised, and the queue is no longer armed.
//
// A queue that was never armed causes no notification, with one exception. If the doorbell page of
// a process is mapped into the VM as shared memory, the device does not observe every arm. The
// queues of such a process can therefore get late events (late_events.h).
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/turn_clock.h"
#include "device/forgotten.h"
#include "device/notifier.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"
#include "device/queues/completion_queue.h"
#include "device/queues/late_events.h"

namespace paravane::device {

// How the device received an arm.
enum class ArmPath : std::uint8_t {
  kAnswered,  // the guest waited for the answer, so the moment is exact
  kPosted,    // the guest did not wait; it may have polled the queue before
};

class CompletionEvents final : public CompletionSink {
 public:
  CompletionEvents(Notifier& notifier, LateEvents& late, const TurnClock& clock,
                   DeviceCounters& counters);

  // The guest has armed a queue. The completion that it waits for may already be in the queue. The
  // guest has seen it, unless the arm was a posted write or was stored in a mapped page. In the
  // first of these cases the queue fires at once; the second is handled by late_events.h.
  void arm(CompletionQueue& cq, bool solicited_only, ArmPath path);

  // ---- CompletionSink ----
  void on_completion(CompletionQueue& cq, bool solicited) override;
  std::optional<std::uint64_t> may_hold(CompletionQueue& cq) override;
  void on_released(std::size_t count) override { held_ -= count; }
  void forget_qp(std::uint32_t qp_handle) override;
  bool is_void(std::uint32_t qp_handle, std::uint64_t number) const override {
    return forgotten_.covers(qp_handle, number);
  }
  void on_overrun(CompletionQueue& cq, bool broken) override;

  // ---- Completions that wait for room in their ring, or for its memory ----
  // Call it once per turn. For a bounded number of queues in rotation, it writes the completions
  // that fit now, and gives up a queue that has waited too long. Returns how many queues and
  // completions were processed.
  std::uint32_t retry_held();
  // The same for one queue, which its guest has just polled.
  std::uint32_t retry_held(CompletionQueue& cq);
  bool holding() const { return !holding_.empty(); }
  // Must be called before the queue is destroyed.
  void forget(CompletionQueue& cq);

 private:
  void leave(CompletionQueue& cq);
  std::uint32_t retry(CompletionQueue& cq, std::uint32_t most);
  void fire(CompletionQueue& cq);

  Notifier& notifier_;
  LateEvents& late_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  std::vector<CompletionQueue*> holding_;  // not owned; each queue knows its position
  std::size_t next_ = 0;                   // the position to retry next
  std::size_t held_ = 0;                   // completions held back, of all queues
  std::uint64_t last_number_ = 0;          // the number of the last one
  Forgotten forgotten_;                    // about queue pairs
};

}  // namespace paravane::device
