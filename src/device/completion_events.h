// CompletionEvents: turns completions and arms into notifications. An armed queue that gets the
// completion it waits for fires once: one entry in the notification ring, one interrupt, and the
// queue is no longer armed. A queue that was never armed stays silent, except for the late events
// of user queues on mapped pages (late_events.h).
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/turn_clock.h"
#include "device/completion_queue.h"
#include "device/forgotten.h"
#include "device/late_events.h"
#include "device/notifier.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"

namespace paravane::device {

// How an arm reached us.
enum class ArmPath : std::uint8_t {
  kAnswered,  // the guest waited for us: exact
  kPosted,    // the guest went on meanwhile: it may have looked at the queue before
};

class CompletionEvents final : public CompletionSink {
 public:
  CompletionEvents(Notifier& notifier, LateEvents& late, const TurnClock& clock,
                   DeviceCounters& counters);

  // A queue is armed by its guest. What it waits for may be there already: the
  // guest has seen it, unless the arm was posted or stored in a mapped page. A
  // posted one fires at once, the other is left to late_events.h.
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
  // Each turn: a bounded number of queues, each in its turn, writes what can be
  // written now; one that has waited too long is given up. Returns how many queues and
  // completions were touched.
  std::uint32_t retry_held();
  // The same for one queue: its guest has just looked at it.
  std::uint32_t retry_held(CompletionQueue& cq);
  bool holding() const { return !holding_.empty(); }
  // The queue is about to be destroyed.
  void forget(CompletionQueue& cq);

 private:
  void leave(CompletionQueue& cq);
  std::uint32_t retry(CompletionQueue& cq, std::uint32_t most);
  void fire(CompletionQueue& cq);

  Notifier& notifier_;
  LateEvents& late_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  std::vector<CompletionQueue*> holding_;  // borrowed; each knows its place
  std::size_t next_ = 0;                   // in it, to be retried
  std::size_t held_ = 0;                   // completions held back, of all queues
  std::uint64_t last_number_ = 0;          // of those
  Forgotten forgotten_;                    // queue pairs
};

}  // namespace paravane::device
