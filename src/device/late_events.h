// LateEvents: completion events for arms that we have not seen.
//
// The provider stores POLL over ARM in the same word of its page, so most arms on
// mapped pages are lost. A user queue with a completion that nobody has consumed
// for `late_event_after`, while its page's CQ word stayed 0 (a spinning program
// keeps storing POLL), gets one event as if it were armed. What lay there when an
// event was sent, late or not, has been told: no second one before cons_head moves
// or more is added. The guest's kernel queues events without bound, so each queue
// has a budget, refilled by every arm seen and slowly by time. When half of it is
// gone, the page is watched closely after each event: a program that lives on
// events arms soon after it woke up, and seeing that once fills the budget.
//
// An arm that is seen while completions wait does not fire at once: nearly always
// the program looks right after it armed and takes them, and the event would be one
// too many. The window starts anew instead, and what is still there at its end
// fires, spinning or not, at no cost to the budget. Of what was told already the
// same holds after a much longer while.
//
// Some programs (perftest's ib_send_lat -e) have several queues on one channel and
// take one completion, of any of them, for each event: they need an event for every
// completion, no more and no less. They never store POLL, so their arms are lost to
// each other alone. A queue whose completions have all been taken since its last
// event, with nothing but arms of other queues in the page's word since, is presumed
// to be armed, at the cost of its budget.
//
// The guest's own queues and trapped doorbells never get a late event: there
// every arm is seen.
//
// Queues wait in two lines, each in the order of their deadlines: those in their
// window, and those that have had their event and must only be looked at now and
// then. A queue has one place, which lies in it: a new window moves it to the end of
// the line, and it leaves the line when it is destroyed.
//
// Owner thread only.

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

  // Whether this queue gets late events at all: a user's, on a mapped page.
  bool covers(const CompletionQueue& cq) const { return mapped_ && cq.of_user(); }

  void on_arm(CompletionQueue& cq);         // seen: the budget is full again
  void on_completion(CompletionQueue& cq);  // an element was written
  void before_event(CompletionQueue& cq);   // an event is about to be sent

  // Judges queues whose time has come, a bounded number; returns how many.
  std::uint32_t poll();
  Instant next_due() const;
  // The queue is about to be destroyed.
  void forget(CompletionQueue& cq);

 private:
  enum class Verdict : std::uint8_t { kDone, kQueued, kAgain, kRarely };

  void refill(CompletionQueue& cq);
  // Whether an event was sent while the queue held all it holds now.
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
