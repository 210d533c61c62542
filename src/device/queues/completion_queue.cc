#include "device/queues/completion_queue.h"

#include <algorithm>
#include <span>
#include <utility>

#include "abi/ring_state.h"
#include "base/memory_shortage.h"

namespace paravane::device {
namespace {

// Completions that a guest sees together at most: enough to keep its processor and
// ours from taking the index's line from each other for each.
constexpr std::uint64_t kMostHidden = 8;
static_assert(kMostHidden <= KernelJournal::kMostNoted);

constexpr std::size_t kMostDropped = 64;

}  // namespace

CompletionQueue::CompletionQueue(const Spec& spec, PageList pages, CompletionSink& sink)
    : spec_(spec),
      pages_(std::move(pages)),
      producer_(pages_, {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes, sizeof(abi::Cqe),
                         spec.entries}),
      sink_(sink) {}

// Within push(), which each completion takes.
[[gnu::always_inline]] inline RingProducer::Push CompletionQueue::add(const abi::Cqe& cqe,
                                                                      bool solicited,
                                                                      std::uint32_t place) {
  const RingProducer::Push added =
      producer_.add(std::as_bytes(std::span<const abi::Cqe, 1>(&cqe, 1)));
  if (added == RingProducer::Push::kDone) {
    ++hidden_;
    if (solicited) last_solicited_ = pushed_ + hidden_;
    if (journal_ != nullptr) [[unlikely]]
      note(cqe, place);
  }
  return added;
}

bool CompletionQueue::push(const verbs::Completion& completion, verbs::Reveal when) {
  if (dead_) return false;
  const abi::Cqe cqe = make_cqe(completion, reader());
  const bool solicited = completion.solicited || completion.status != verbs::WcStatus::kSuccess;
  const std::uint32_t place = journal_ == nullptr ? kNoPlace : place_of(completion);
  if (holding()) return hold(cqe, solicited, place);  // in order
  switch (add(cqe, solicited, place)) {
    case RingProducer::Push::kDone: break;
    case RingProducer::Push::kAbsent:
    case RingProducer::Push::kFull: reveal(); return hold(cqe, solicited, place);
    case RingProducer::Push::kBroken: die(true); return false;
  }
  if (when == verbs::Reveal::kNow || hidden_ == kMostHidden) reveal();
  return !dead_;
}

void CompletionQueue::publish_taken() {
  if (RingConsumer* ring = std::exchange(taken_from_, nullptr)) {
    static_cast<void>(ring->publish());  // while that fails, the ring remembers
  }
}

void CompletionQueue::reveal() {
  publish_taken();
  if (hidden_ == 0 || dead_) return;
  if (producer_.publish() != RingProducer::Push::kDone) return die(true);
  const bool solicited = last_solicited_ > pushed_;
  pushed_ += std::exchange(hidden_, 0);
  if (journal_ != nullptr) journal_->settle(spec_.handle);
  sink_.on_completion(*this, solicited);
}

std::uint32_t CompletionQueue::place_of(const verbs::Completion& completion) const {
  const auto queue = verbs::is_receive(completion.opcode) ? KernelJournal::Queue::kReceive
                                                          : KernelJournal::Queue::kSend;
  return journal_->reached(completion.qp_tag, queue, completion.behind).value_or(kNoPlace);
}

void CompletionQueue::note(const abi::Cqe& cqe, std::uint32_t place) {
  const std::uint32_t index = producer_.published();
  if (place == kNoPlace) {
    return journal_->note(spec_.handle, index, KernelJournal::kNoQp, KernelJournal::Queue::kSend,
                          0);
  }
  const auto queue = cqe.opcode.get() >= abi::kCqeReceive ? KernelJournal::Queue::kReceive
                                                          : KernelJournal::Queue::kSend;
  journal_->note(spec_.handle, index, static_cast<std::uint32_t>(cqe.qp.get()), queue, place);
}

std::optional<std::uint32_t> CompletionQueue::resume() {
  if (producer_.resume() != RingProducer::Push::kDone) return std::nullopt;
  pushed_ = producer_.unconsumed_as_seen();
  return producer_.published();
}

bool CompletionQueue::hold(const abi::Cqe& cqe, bool solicited, std::uint32_t place) {
  if (dead_) return false;
  if (held() >= spec_.entries) drop_void();
  const bool is_held = held() < spec_.entries && find_place(cqe, solicited, place);
  if (!is_held) die(false);
  return is_held;
}

// False: the limit is reached, or memory has run out. That ends this queue, which is full, and not
// the turn, which may be a peer's.
bool CompletionQueue::find_place(const abi::Cqe& cqe, bool solicited, std::uint32_t place) {
  const bool has_room = runs_in_memory([&] {
    auto first = holding() ? nullptr : std::make_unique<std::deque<Held>>();
    (first ? *first : *held_).push_back({cqe, solicited, place, 0});
    if (first) held_ = std::move(first);
  });
  if (!has_room) return false;
  if (const auto number = sink_.may_hold(*this)) {
    held_->back().number = *number;
    return true;
  }
  held_->pop_back();
  if (held_->empty()) held_.reset();
  return false;
}

// A few of those at the front; the others have their turn.
void CompletionQueue::drop_void() {
  std::size_t dropped = 0;
  for (; dropped < kMostDropped && holding() && is_void(held_->front()); ++dropped) drop_first();
  sink_.on_released(dropped);
}

void CompletionQueue::drop_first() {
  held_->pop_front();
  if (held_->empty()) held_.reset();
}

std::uint32_t CompletionQueue::retry_held(std::uint32_t most) {
  std::uint32_t written = 0;
  RingProducer::Push push = RingProducer::Push::kDone;
  while (written < most && holding()) {
    if (hidden_ == kMostHidden) reveal();
    if (!holding()) break;  // the guest has broken its ring
    const Held& held = held_->front();
    if (!is_void(held)) push = add(held.cqe, held.solicited, held.place);
    if (push != RingProducer::Push::kDone) break;
    drop_first();
    ++written;
  }
  sink_.on_released(written);
  reveal();
  if (push == RingProducer::Push::kBroken && !dead_) die(true);
  return written;
}

void CompletionQueue::give_up() {
  if (!dead_) die(false);
}

std::uint32_t CompletionQueue::pages_kept() const {
  return pages_.pages_kept() + static_cast<std::uint32_t>(held() * sizeof(Held) / kPageBytes + 1);
}

void CompletionQueue::die(bool broken) {
  dead_ = true;
  sink_.on_released(held());
  held_.reset();
  arm_ = Arm::kNone;
  sink_.on_overrun(*this, broken);
}

void CompletionQueue::set_arm(bool solicited_only) {
  if (dead_) return;
  if (!solicited_only) {
    arm_ = Arm::kAny;
  } else if (arm_ == Arm::kNone) {
    arm_ = Arm::kSolicited;
  }
}

bool CompletionQueue::holds_what_arm_waits_for() {
  const std::uint32_t waiting = unconsumed();
  if (waiting == 0) return false;
  return arm_ == Arm::kAny || (arm_ == Arm::kSolicited && last_solicited_ > pushed_ - waiting);
}

std::uint32_t CompletionQueue::unconsumed() {
  return dead_ ? 0 : producer_.unconsumed();
}

}  // namespace paravane::device
