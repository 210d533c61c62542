// LateEvents: sends completion events for arms that the device did not observe. A program arms a
// completion queue to request an event. If its doorbell page is mapped, it does so by storing ARM
// in a word of the page, and usually overwrites ARM with POLL before the device reads the word.
//
// A program's queue therefore gets an event as if it were armed, if a completion has not been
// consumed for `late_event_after` and the word stayed 0 in that time. No second event follows until
// the program consumes a completion or another one is added. The guest's kernel queues events
// without a limit, so each queue has a budget of late events, which grows with observed arms and
// with time.
//
// An observed arm does not fire at once if completions already wait, because the program usually
// takes them right after arming. The queue fires if they are still there after the same time. A
// queue whose completions have all been taken since its last event, while the word showed only arms
// of other queues, is presumed armed.
//
// Queues of the guest's kernel, and trapped doorbells, never get a late event, because every arm is
// observed there. Owner thread only. Source: docs/device-spec.md, section 3.

#pragma once

#include <cstdint>

#include "base/line.h"
#include "base/turn_clock.h"
#include "device/completion_queue.h"
#include "device/doorbell_watch.h"
#include "device/notifier.h"
#include "device/pvrdma_device.h"

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
  std::uint32_t poll();
  Instant next_due() const;
  // Must be called before the queue is destroyed.
  void forget(CompletionQueue& cq);

 private:
  enum class Verdict : std::uint8_t { kDone, kQueued, kAgain, kRarely };

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
