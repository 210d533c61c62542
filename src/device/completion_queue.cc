#include "device/completion_queue.h"

#include <algorithm>
#include <span>
#include <utility>

#include "abi/ring_state.h"

namespace paravane::device {

CompletionQueue::CompletionQueue(const Spec& spec, PageList pages, CompletionSink& sink)
    : spec_(spec),
      reader_(spec.owner == nullptr ? Reader::kKernel : Reader::kUser),
      pages_(std::move(pages)),
      producer_(pages_, {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes, sizeof(abi::Cqe),
                         spec.entries}),
      sink_(sink) {}

bool CompletionQueue::push(const verbs::Completion& completion) {
  if (dead_) return false;
  const abi::Cqe cqe = make_cqe(completion, reader_);
  const bool solicited = completion.solicited || completion.status != verbs::WcStatus::kSuccess;
  if (!held_.empty()) return hold(cqe, solicited);  // in order
  switch (write(cqe, solicited)) {
    case RingProducer::Push::kDone: return true;
    case RingProducer::Push::kAbsent:
    case RingProducer::Push::kFull: return hold(cqe, solicited);
    case RingProducer::Push::kBroken: die(true); return false;
  }
  std::unreachable();
}

RingProducer::Push CompletionQueue::write(const abi::Cqe& cqe, bool solicited) {
  const RingProducer::Push push = producer_.push(std::as_bytes(std::span(&cqe, 1)));
  if (push == RingProducer::Push::kDone) {
    ++pushed_;
    if (solicited) last_solicited_ = pushed_;
    sink_.on_completion(*this, solicited);
  }
  return push;
}

bool CompletionQueue::hold(const abi::Cqe& cqe, bool solicited) {
  if (held_.size() >= spec_.entries) {
    die(false);
    return false;
  }
  held_.push_back({cqe, solicited});
  if (held_.size() == 1) sink_.on_held(*this);
  return true;
}

void CompletionQueue::retry_held() {
  while (!held_.empty() && !dead_) {
    const RingProducer::Push push = write(held_.front().cqe, held_.front().solicited);
    switch (push) {
      case RingProducer::Push::kDone: held_.pop_front(); break;
      case RingProducer::Push::kAbsent:
      case RingProducer::Push::kFull: return;
      case RingProducer::Push::kBroken: die(true); return;
    }
  }
}

void CompletionQueue::give_up() {
  if (!dead_) die(false);
}

void CompletionQueue::forget_qp(std::uint32_t qp_handle) {
  std::erase_if(held_, [=](const Held& held) { return held.cqe.qp.get() == qp_handle; });
}

void CompletionQueue::die(bool broken) {
  dead_ = true;
  held_.clear();
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
