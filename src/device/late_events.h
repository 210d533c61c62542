// LateEvents: completion events for arms that the device did not observe.
//
// The provider stores POLL over ARM in the same word of its page, so most arms on mapped pages are
// lost. A user queue gets one event as if it were armed when a completion has not been consumed
// for `late_event_after` while its page's CQ word stayed 0 (a spinning program keeps storing
// POLL). Completions that were present when an event was sent, late or not, have been reported: no
// second event is sent before cons_head moves or another completion is added. The guest's kernel
// queues events without bound, so each queue has a budget, refilled by every observed arm and
// slowly over time. When half of it is used up, the page is polled closely after each event: a
// program that relies on events arms soon after it wakes up, and observing that once refills the
// budget.
//
// An arm that is observed while completions wait does not fire at once: nearly always the program
// checks the queue right after it armed and takes them, and the event would be one too many. The
// window starts again instead. A completion that is still there at its end fires, even if the
// program is spinning, and costs no budget. The same applies, after a much longer time, to
// completions that were reported before.
//
// Some programs (perftest's ib_send_lat -e) have several queues on one channel and take one
// completion, from any of them, per event: they need exactly one event per completion. They never
// store POLL, so their arms overwrite only each other. A queue whose completions have all been
// taken since its last event, with nothing but arms of other queues in the page's word since, is
// presumed armed, at the cost of its budget.
//
// The guest kernel's own queues and trapped doorbells never get a late event, because every arm is
// observed there.
//
// Queues wait in two lists, each in the order of their deadlines: those in their window, and those
// that have had their event and need only an occasional check. A queue is in at most one list, by
// a link inside the queue: a new window moves it to the end of the list, and it leaves the list
// when it is destroyed.
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
