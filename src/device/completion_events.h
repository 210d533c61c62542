// CompletionEvents: from completions and arms to notifications. An armed queue
// that gets what it waits for fires once: one entry in the notification ring, one
// interrupt, and it is armed no more. A queue that was never armed stays silent,
// but for the late events of user queues on mapped pages (late_events.h).
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <vector>

#include "device/completion_queue.h"
#include "device/late_events.h"
#include "device/notifier.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"
#include "device/turn_clock.h"

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
  void on_held(CompletionQueue& cq) override;
  void on_overrun(CompletionQueue& cq, bool broken) override;

  // ---- Completions that wait for room in their ring, or for its memory ----
  // Writes what can be written now; a queue that has waited too long is given up.
  void retry_held();
  bool holding() const { return !holding_.empty(); }
  void forget(const CompletionQueue& cq);

 private:
  struct Holding {
    CompletionQueue* cq;  // leaves by forget()
    Instant since;        // it last got rid of one
  };
  void fire(CompletionQueue& cq);

  Notifier& notifier_;
  LateEvents& late_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  std::vector<Holding> holding_;
};

}  // namespace paravane::device
