// DoorbellWatch: polls the doorbell pages of the guest's processes (contexts) that have the device
// open.
//
// A word of such a page holds only the last doorbell, and earlier doorbells in it are lost. If a
// word is not zero, any ring of the context can have work, so all queue pairs of the context are
// checked, in slices. While there is work, few are checked in vain: one for each turn and four for
// each that has work, and 256 each millisecond. So thousands of idle queue pairs do not delay a
// busy one, and one of them whose doorbell was lost is found after (queues that have to be checked)
// / 256 milliseconds at the latest, those of other processes of the VM included. Queue pairs that
// had work recently are also checked without a doorbell.
//
// The polling interval of a page depends on how long ago its context last had work. Work is a
// request that was found or a completion that was delivered. At first, a page is polled in every
// turn (time slice) of the worker. Later, the interval is an eighth of the time since the last
// work, up to a limit. A doorbell without work does not count as work, so a process cannot gain
// more polling by storing doorbells constantly. LateEvents can request more frequent polling.
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
#include "device/queues/queue_pair.h"
#include "device/queues/shared_receive_queue.h"
#include "device/user_context.h"

namespace paravane::device {

// WordSink: interprets doorbell words. doorbells.h implements it.
class WordSink {
 public:
  virtual ~WordSink() = default;
  // nullptr: the word names no queue pair of this context.
  virtual QueuePair* resolve_qp_word(UserContext& context, std::uint32_t word) = 0;
  // nullptr: the word names no shared receive queue of this context.
  virtual SharedReceiveQueue* resolve_srq_word(UserContext& context, std::uint32_t word) = 0;
  virtual void on_cq_word(UserContext& context, std::uint32_t word) = 0;
};

class DoorbellWatch {
 public:
  // In trapped mode, contexts are never polled.
  DoorbellWatch(const DeviceConfig& config, DoorbellPages& pages, WordSink& sink,
                const TurnClock& clock, DeviceCounters& counters);

  void add(UserContext& context);
  // As add(), for a context that is loaded: what its page holds was stored for it.
  void adopt(UserContext& context);
  void remove(UserContext& context);
  // All contexts are going to be destroyed, so no page is polled any more.
  void clear();
  // `context`: the context of the queue pair; nullptr: the guest's kernel owns it.
  void forget(QueuePair& qp, UserContext* context);
  // A shared receive queue of the context is about to be destroyed.
  static void forget_shared(UserContext& context);

  // Checks the queue pairs that were busy a moment ago, with or without a doorbell. Call it first
  // in each turn.
  void look_at_hot() {
    if (is_any_hot_) look_at_those_hot();
  }
  // Polls the pages that are due, and checks queue pairs that still have to be checked. Call it
  // second in each turn. Returns how many contexts, pages and queues were checked.
  std::uint32_t poll();

  // Polls one page now, even if it is not due.
  void look(UserContext& context);

  // The context had work, so its page is polled closely again.
  void on_work(UserContext& context) {
    context.last_work = clock_.now;
    watch_closely(context, kAfterWork);
  }

  // Polls the page in every turn for this time, even without work.
  void watch_closely(UserContext& context, Duration how_long) {
    const Instant until = clock_.now + how_long;
    if (context.close_until < until) context.close_until = until;
    if (close_until_ < until) close_until_ = until;
    // Even if the next turn comes only after that time, it must poll the page once.
    if (context.next_look > clock_.now) context.next_look = clock_.now;
    if (next_due_ > clock_.now) next_due_ = clock_.now;
  }

  // Whether queues still have to be checked. If so, call poll() without sleeping.
  bool sweeping() const { return !sweeping_.empty(); }
  // The time at which a page must be polled next; kNever: no context is open.
  Instant next_due() const { return watched_.empty() ? kNever : next_due_; }

 private:
  static constexpr std::size_t kHotQueuePairs = 8;
  static constexpr Duration kAfterWork = std::chrono::microseconds(20);

  void look_at_those_hot();
  std::uint32_t look_at_pages();
  std::uint32_t sweep();
  std::uint32_t allowed_in_vain();  // in this turn
  void sweep(UserContext& context, std::uint32_t& left);
  // Looks at no more than `most` of those that have not been looked at since the last doorbell.
  template <typename Queue>
  std::uint32_t look_at_some(UserContext& context, const std::vector<Queue*>& queues,
                             std::uint32_t& at, std::uint32_t& unseen, std::uint32_t most);
  // False: it had no work.
  bool look_at(UserContext& context, QueuePair& qp);
  bool look_at(UserContext& context, SharedReceiveQueue& srq);
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
  std::size_t cursor_ = 0;  // where polling continues after a turn's limit was reached
  Line<UserContext> sweeping_;
  std::uint64_t sweep_round_ = 0;
  std::uint32_t vain_left_ = 0;  // looks that may find nothing, in this turn
  Instant last_found_{};
  Instant next_slice_{};  // when a turn may look at a slice in vain, although there is work
  struct Hot {
    QueuePair* qp = nullptr;
    UserContext* context = nullptr;
  };
  std::array<Hot, kHotQueuePairs> hot_{};
  std::size_t next_hot_ = 0;
  bool is_any_hot_ = false;  // false: all of hot_ are empty
  Instant next_due_ = kNever;
  Instant close_until_{};  // the latest of all contexts
};

}  // namespace paravane::device
