// DoorbellWatch: polls the doorbell pages of the open contexts.
//
// A word holds only the last store, so a doorbell is a hint and the ring's producer index is the
// truth: any nonzero word means that every ring of the context may have work. All its queue pairs
// are then checked, in slices, before the page counts as quiet; queue pairs that had work recently
// are checked in between, with or without a word.
//
// The polling interval of a page depends on the time since the context last had work (a request
// found, or a completion delivered): every turn at first, then an eighth of that time, up to a
// limit. Words that bring no work do not count, so a page that is hammered costs one poll per
// interval. Code that must not miss the next word (late_events.h) can request closer polling. With
// no open context there is nothing to poll.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/line.h"
#include "base/turn_clock.h"
#include "device/doorbell_pages.h"
#include "device/pvrdma_device.h"
#include "device/queue_pair.h"
#include "device/shared_receive_queue.h"
#include "device/user_context.h"

namespace paravane::device {

// What words mean: doorbells.h.
class WordSink {
 public:
  virtual ~WordSink() = default;
  // nullptr: no queue pair of this context.
  virtual QueuePair* resolve_qp_word(UserContext& context, std::uint32_t word) = 0;
  // nullptr: no shared receive queue of this context.
  virtual SharedReceiveQueue* resolve_srq_word(UserContext& context, std::uint32_t word) = 0;
  virtual void on_cq_word(UserContext& context, std::uint32_t word) = 0;
};

class DoorbellWatch {
 public:
  // In trapped mode contexts are never watched.
  DoorbellWatch(const DeviceConfig& config, DoorbellPages& pages, WordSink& sink,
                const TurnClock& clock, DeviceCounters& counters);

  void add(UserContext& context);
  void remove(UserContext& context);
  // Every context is to go: no page is looked at any more.
  void clear();
  // `context`: the queue pair's; none: the guest's kernel.
  void forget(QueuePair& qp, UserContext* context);
  // A shared receive queue of the context is about to go.
  static void forget_shared(UserContext& context);

  // Each turn, first: the queue pairs that were busy a moment ago, doorbell or not.
  void look_at_hot();
  // Then: pages that are due, queue pairs that still have to be looked at. Returns how
  // many contexts, pages and queues were looked at.
  std::uint32_t poll();

  // Takes the words of one page now, due or not.
  void look(UserContext& context);

  // The context had work: its page is watched closely again.
  void on_work(UserContext& context) {
    context.last_work = clock_.now;
    watch_closely(context, kAfterWork);
  }

  // Every turn for so long, work or not.
  void watch_closely(UserContext& context, Duration how_long) {
    const Instant until = clock_.now + how_long;
    if (context.close_until < until) context.close_until = until;
    if (close_until_ < until) close_until_ = until;
    // A turn that comes only after all that must look once, too.
    if (context.next_look > clock_.now) context.next_look = clock_.now;
    if (next_due_ > clock_.now) next_due_ = clock_.now;
  }

  // Queues still have to be looked at: call poll() without sleeping.
  bool sweeping() const { return !sweeping_.empty(); }
  // kNever: no context is open.
  Instant next_due() const { return watched_.empty() ? kNever : next_due_; }

 private:
  static constexpr std::size_t kHotQueuePairs = 8;
  static constexpr Duration kAfterWork = std::chrono::microseconds(20);

  std::uint32_t look_at_pages();
  std::uint32_t sweep();
  void sweep(UserContext& context, std::uint32_t& left);
  std::uint32_t sweep_shared(UserContext& context, std::uint32_t most);
  void look_at(UserContext& context, QueuePair& qp);
  void look_at(UserContext& context, SharedReceiveQueue& srq);
  void take_srq_word(UserContext& context);
  void take_cq_word(UserContext& context);
  void start_sweep(UserContext& context);
  void line_up(UserContext& context);
  void found_work(UserContext& context);
  Duration interval(const UserContext& context) const;

  const DeviceConfig& config_;
  DoorbellPages& pages_;
  WordSink& sink_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  std::vector<UserContext*> watched_;
  std::size_t cursor_ = 0;  // where the look at pages goes on when a turn's bound was met
  Line<UserContext> sweeping_;
  std::uint64_t sweep_round_ = 0;
  struct Hot {
    QueuePair* qp = nullptr;
    UserContext* context = nullptr;
  };
  std::array<Hot, kHotQueuePairs> hot_{};
  std::size_t next_hot_ = 0;
  Instant next_due_ = kNever;
  Instant close_until_{};  // the latest of all contexts
};

}  // namespace paravane::device
