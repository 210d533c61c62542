// LateEvents: sends completion events for arms that the device did not observe. A program arms a
// completion queue to request an event. If the program's doorbell page is mapped into the VM as
// shared memory, the program stores ARM in a word of the page. It usually overwrites ARM with POLL
// before the device reads the word, so the device does not observe the arm.
//
// A program's queue therefore gets an event, as if it were armed, when a completion has not been
// consumed for `late_event_after` and the word has been 0 for that time. No second event follows
// until the program consumes a completion or another completion is added.
//
// The guest's kernel stores events without a limit. Each queue therefore has a budget of late
// events, which grows with observed arms and with time.
//
// docs/device-spec.md, section 3, describes two further rules. One delays the event for an observed
// arm, and the other determines when a queue is presumed to be armed.
//
// Late events are never sent to queues of the guest's kernel, or to any queue if the doorbell pages
// are not mapped. In both cases, each doorbell is a message to the device, so the device observes
// every arm.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/line.h"
#include "base/turn_clock.h"
#include "device/doorbell_watch.h"
#include "device/notifier.h"
#include "device/pvrdma_device.h"
#include "device/queues/completion_queue.h"

namespace paravane::device {

class LateEvents {
 public:
  LateEvents(const DeviceConfig& config, DoorbellWatch& watch, Notifier& notifier,
             const TurnClock& clock, DeviceCounters& counters);

  // Whether this queue can get late events. That is so if a process owns it and doorbell pages are
  // mapped.
  bool covers(const CompletionQueue& cq) const { return mapped_ && cq.of_user(); }

  void on_arm(CompletionQueue& cq);         // an arm was observed, so the budget is full again
  void on_completion(CompletionQueue& cq);  // an element was written
  void before_event(CompletionQueue& cq);   // an event is about to be sent

  // Decides about a bounded number of queues that are due. Returns their number.
  std::uint32_t poll() { return clock_.now < next_due() ? 0 : judge_due(); }
  Instant next_due() const { return std::min(first_due(soon_), first_due(rarely_)); }
  // The queue has just been loaded (docs/state.md): its wait begins anew.
  void resume(CompletionQueue& cq);
  // Must be called before the queue is destroyed.
  void forget(CompletionQueue& cq);

 private:
  enum class Verdict : std::uint8_t { kDone, kQueued, kAgain, kRarely };

  static Instant first_due(const Line<CompletionQueue>& line) {
    return line.empty() ? kNever : line.first()->late().due;
  }
  std::uint32_t judge_due();
  void refill(CompletionQueue& cq);
  // Whether an event was sent while the queue already held everything that it holds now.
  bool is_told(CompletionQueue& cq, std::uint64_t position) const;
  bool presumes_arm(CompletionQueue& cq);
  void send(CompletionQueue& cq, Counter& counter);
  void start_window(CompletionQueue& cq, std::uint64_t consumed);
  void queue_up(CompletionQueue& cq, bool rarely);
  Verdict judge(CompletionQueue& cq);
  bool spend(CompletionQueue& cq);
  void leave(CompletionQueue& cq);
  void run(Line<CompletionQueue>& line, int& left);

  const DeviceConfig& config_;
  const bool mapped_;
  DoorbellWatch& watch_;
  Notifier& notifier_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  Line<CompletionQueue> soon_;
  Line<CompletionQueue> rarely_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace paravane::device
