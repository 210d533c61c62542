#include "device/doorbell_watch.h"

#include <algorithm>
#include <utility>

#include "abi/uar.h"

namespace paravane::device {
namespace {

constexpr std::size_t kPagesPerTurn = 64;
constexpr std::size_t kContextsPerTurn = 1024;  // whether their pages are due
constexpr std::uint32_t kQueuesPerTurn = 1024;
constexpr std::uint32_t kContextsPerSweep = 256;
constexpr std::uint32_t kSlice = 256;  // of one context, before the next one's turn
// While there is work, a sweep must not take its time: so many looks in vain for each turn and
// for each queue that has work, and what was not spent so far. And a slice now and then, for many
// queues, or turns that are long.
constexpr std::uint32_t kVainPerTurn = 1;
constexpr std::uint32_t kVainPerFound = 4;
constexpr std::uint32_t kMostVain = 64;
constexpr Duration kBetweenSlices = std::chrono::milliseconds(1);
// Between looks of a close watch when nothing else makes the worker turn: after
// work, and on request.
constexpr Duration kAfterWorkInterval = std::chrono::nanoseconds(100);
// A page whose busy queue pairs are looked at anyway is left alone for so long after
// each of their requests, and at most for so long in all.
constexpr Duration kSpared = std::chrono::microseconds(1);
constexpr Duration kMostSpared = std::chrono::microseconds(4);
constexpr Duration kCloseInterval = std::chrono::microseconds(5);

}  // namespace

DoorbellWatch::DoorbellWatch(const DeviceConfig& config, DoorbellPages& pages, WordSink& sink,
                             const TurnClock& clock, DeviceCounters& counters)
    : config_(config), pages_(pages), sink_(sink), clock_(clock), counters_(counters) {}

void DoorbellWatch::add(UserContext& context) {
  if (config_.doorbells == DoorbellMode::kMapped) {
    pages_.clear(context.page);  // words of a context that had the page before
  }
  adopt(context);
}

void DoorbellWatch::adopt(UserContext& context) {
  if (config_.doorbells != DoorbellMode::kMapped) return;
  context.watch_place = watched_.size();
  watched_.push_back(&context);
  on_work(context);
}

void DoorbellWatch::remove(UserContext& context) {
  if (config_.doorbells != DoorbellMode::kMapped) return;
  pages_.clear(context.page);
  sweeping_.leave(context.sweep_place);
  if (!context.watched()) return;  // after clear()
  const std::size_t place = std::exchange(context.watch_place, UserContext::kUnwatched);
  if (place + 1 != watched_.size()) {
    watched_[place] = watched_.back();
    watched_[place]->watch_place = place;
  }
  watched_.pop_back();
}

void DoorbellWatch::clear() {
  for (UserContext* context : watched_) context->watch_place = UserContext::kUnwatched;
  watched_.clear();
  hot_ = {};
  while (sweeping_.call() != nullptr) {
  }
}

void DoorbellWatch::forget(QueuePair& qp, UserContext* context) {
  // The last one of the list takes its place there: none may be left out.
  if (context != nullptr && context->sweep_left > 0) {
    context->sweep_left = static_cast<std::uint32_t>(context->holdings.queue_pairs.size());
  }
  for (Hot& hot : hot_) {
    if (hot.qp == &qp) hot = {};
  }
}

void DoorbellWatch::forget_shared(UserContext& context) {
  if (context.shared_left > 0) {
    context.shared_left = static_cast<std::uint32_t>(context.holdings.shared_receive_queues.size());
  }
}

std::uint32_t DoorbellWatch::poll() {
  if (watched_.empty()) return 0;
  std::uint32_t looks = 0;
  if (next_due_ <= clock_.now || clock_.now < close_until_) looks += look_at_pages();
  if (!sweeping_.empty()) looks += sweep();
  return looks;
}

std::uint32_t DoorbellWatch::look_at_pages() {
  const std::size_t count = watched_.size();
  std::size_t looks = 0;
  std::size_t i = 0;
  Instant next = kNever;
  for (; i < count; ++i) {
    if (looks == kPagesPerTurn || i == kContextsPerTurn) {
      cursor_ = (cursor_ + i) % count;
      next = clock_.now;
      break;
    }
    UserContext& context = *watched_[(cursor_ + i) % count];
    const bool due = context.next_look <= clock_.now || clock_.now < context.close_until;
    if (due && context.spared_until <= clock_.now) {
      ++looks;
      look(context);
    }
    next = std::min(next, std::max(context.next_look, context.spared_until));
  }
  next_due_ = next;
  return static_cast<std::uint32_t>(i + looks);
}

void DoorbellWatch::look(UserContext& context) {
  // The words first, the rings after: what was posted before a word was stored is
  // seen behind it.
  const std::uint32_t qp_word = pages_.take_qp_word(context.page);
  take_srq_word(context);
  take_cq_word(context);
  if (qp_word != 0) {
    start_sweep(context);
    if (QueuePair* qp = sink_.resolve_qp_word(context, qp_word)) look_at(context, *qp);
  }
  context.last_look = clock_.now;
  context.next_look = clock_.now + interval(context);
}

// The word names the last queue that was posted to; others may have been before it.
void DoorbellWatch::take_srq_word(UserContext& context) {
  const std::uint32_t word = pages_.take_srq_word(context.page);
  if (word == 0) return;
  counters_.mapped_doorbells.add();
  context.shared_left = static_cast<std::uint32_t>(context.holdings.shared_receive_queues.size());
  line_up(context);
  if (SharedReceiveQueue* srq = sink_.resolve_srq_word(context, word)) look_at(context, *srq);
}

void DoorbellWatch::take_cq_word(UserContext& context) {
  const std::uint32_t word = pages_.take_cq_word(context.page);
  if (word == 0) return;
  start_sweep(context);
  context.note_completion_word(word);
  sink_.on_cq_word(context, word);
}

void DoorbellWatch::start_sweep(UserContext& context) {
  counters_.mapped_doorbells.add();
  context.sweep_left = static_cast<std::uint32_t>(context.holdings.queue_pairs.size());
  line_up(context);
}

// Once, however often: words are also taken in the middle of its sweep. And not while it is
// buried, when its queues still complete requests and may have its page looked at: it goes
// without leaving this line.
void DoorbellWatch::line_up(UserContext& context) {
  const bool unfinished = context.sweep_left > 0 || context.shared_left > 0;
  if (!unfinished || !context.watched() || context.sweep_place.taken()) return;
  sweeping_.join(context, context.sweep_place);
}

// An arm that was stored before a request was posted must be in force before that
// request completes. Programs that never arm are spared the look at their page.
void DoorbellWatch::found_work(UserContext& context) {
  last_found_ = clock_.now;
  on_work(context);
  if (context.completion_words != context.poll_words) take_cq_word(context);
}

bool DoorbellWatch::look_at(UserContext& context, QueuePair& qp) {
  if (!qp.look()) return false;
  found_work(context);
  for (const Hot& hot : hot_) {
    if (hot.qp == &qp) return true;
  }
  is_any_hot_ = true;
  hot_[next_hot_] = {&qp, &context};
  next_hot_ = (next_hot_ + 1) % kHotQueuePairs;
  return true;
}

bool DoorbellWatch::look_at(UserContext& context, SharedReceiveQueue& srq) {
  if (!srq.look()) return false;
  found_work(context);
  return true;
}

void DoorbellWatch::look_at_those_hot() {
  is_any_hot_ = false;
  for (Hot& hot : hot_) {
    if (hot.qp == nullptr) continue;
    is_any_hot_ = true;  // until the next turn at least
    if (clock_.now - hot.context->last_work >= kAfterWork) {
      hot = {};
    } else if (hot.qp->look()) {
      found_work(*hot.context);
      // Its doorbell, in a line that the guest has just written, says nothing new.
      hot.context->spared_until =
          std::min(clock_.now + kSpared, hot.context->last_look + kMostSpared);
    }
  }
}

std::uint32_t DoorbellWatch::allowed_in_vain() {
  if (clock_.now - last_found_ >= kAfterWork) return kQueuesPerTurn;
  if (clock_.now < next_slice_) return std::min(vain_left_ + kVainPerTurn, kMostVain);
  next_slice_ = clock_.now + kBetweenSlices;
  return kSlice;
}

std::uint32_t DoorbellWatch::sweep() {
  std::uint32_t left = kQueuesPerTurn;
  vain_left_ = allowed_in_vain();
  ++sweep_round_;
  for (std::uint32_t turns = 0; turns < kContextsPerSweep && left > 0 && vain_left_ > 0; ++turns) {
    UserContext* context = sweeping_.first();
    if (context == nullptr || context->sweep_round == sweep_round_) break;  // each once
    sweeping_.leave(context->sweep_place);
    context->sweep_round = sweep_round_;
    sweep(*context, left);
    line_up(*context);
  }
  return kQueuesPerTurn - left;
}

void DoorbellWatch::sweep(UserContext& context, std::uint32_t& left) {
  Holdings& holdings = context.holdings;
  // In turn first: where few looks are allowed, neither kind may take all of them.
  context.shared_first = !context.shared_first;
  const auto look_at_kind = [&](bool shared) {
    const std::uint32_t most = std::min(kSlice, left);
    left -= shared ? look_at_some(context, holdings.shared_receive_queues, context.shared_at,
                                  context.shared_left, most)
                   : look_at_some(context, holdings.queue_pairs, context.sweep_at,
                                  context.sweep_left, most);
  };
  look_at_kind(context.shared_first);
  look_at_kind(!context.shared_first);
}

// How many it has looked at.
template <typename Queue>
std::uint32_t DoorbellWatch::look_at_some(UserContext& context, const std::vector<Queue*>& queues,
                                          std::uint32_t& at, std::uint32_t& unseen,
                                          std::uint32_t most) {
  const auto count = static_cast<std::uint32_t>(queues.size());
  unseen = std::min(unseen, count);
  most = std::min(unseen, most);
  std::uint32_t looks = 0;
  for (; looks < most && vain_left_ > 0; ++looks) {
    if (at >= count) at = 0;
    --unseen;  // first: what is found may start the sweep anew
    if (look_at(context, *queues[at++])) {
      vain_left_ += kVainPerFound;
    } else {
      --vain_left_;
    }
  }
  return looks;
}

Duration DoorbellWatch::interval(const UserContext& context) const {
  const Duration idle = clock_.now - context.last_work;
  if (idle < kAfterWork) return kAfterWorkInterval;
  if (clock_.now < context.close_until) return kCloseInterval;
  return std::min(idle / 8, config_.watch_ceiling);
}

}  // namespace paravane::device
