#include "device/notifier.h"

#include <algorithm>
#include <utility>

namespace paravane::device {
namespace {

constexpr Duration kFirstReminder = std::chrono::milliseconds(2);
constexpr Duration kLastReminder = std::chrono::seconds(1);

std::uint64_t async_entry(abi::AsyncEventType type, std::uint32_t info) {
  return std::uint64_t{info} << 32 | type;
}

}  // namespace

Notifier::Notifier(InterruptLines& lines, TimerQueue& timers, const TurnClock& clock,
                   DeviceCounters& counters)
    : lines_(lines), timers_(timers), clock_(clock), counters_(counters) {}

Notifier::~Notifier() {
  stop();
}

void Notifier::start(PageList completion_ring, PageList async_ring) {
  stop();
  completion_.ring =
      std::make_unique<NotificationRing>(std::move(completion_ring), sizeof(abi::CompletionNotice));
  async_.ring = std::make_unique<NotificationRing>(std::move(async_ring), sizeof(abi::AsyncEvent));
}

void Notifier::stop() {
  stop(completion_);
  stop(async_);
  gate_open_ = false;
}

void Notifier::stop(Channel& channel) {
  timers_.cancel(std::exchange(channel.timer, TimerId::kNone));
  channel.ring.reset();
}

void Notifier::open_gate() {
  if (std::exchange(gate_open_, true)) return;
  publish(async_);
}

void Notifier::completion(std::uint32_t cq_handle) {
  if (!completion_.ring) return;
  completion_.ring->put(cq_handle);
  publish(completion_);
}

void Notifier::async(abi::AsyncEventType type, std::uint32_t info) {
  if (!async_.ring) return;
  counters_.async_events.add();
  async_.ring->put(async_entry(type, info));
  if (gate_open_) publish(async_);
}

void Notifier::forget_cq(std::uint32_t handle) {
  if (!completion_.ring) return;
  completion_.ring->forget(UINT32_MAX, handle);
  async_.ring->forget(UINT64_MAX, async_entry(abi::kEventCqError, handle));
}

void Notifier::forget_qp(std::uint32_t handle) {
  if (!async_.ring) return;
  for (const auto type :
       {abi::kEventQpFatal, abi::kEventQpRequestError, abi::kEventQpAccessError,
        abi::kEventCommEstablished, abi::kEventSendQueueDrained, abi::kEventLastWqeReached}) {
    async_.ring->forget(UINT64_MAX, async_entry(type, handle));
  }
}

void Notifier::forget_srq(std::uint32_t handle) {
  if (!async_.ring) return;
  for (const auto type : {abi::kEventSrqError, abi::kEventSrqLimitReached}) {
    async_.ring->forget(UINT64_MAX, async_entry(type, handle));
  }
}

void Notifier::flush() {
  if (completion_.ring && completion_.ring->waiting() > 0) publish(completion_);
  if (gate_open_ && async_.ring && async_.ring->waiting() > 0) publish(async_);
}

void Notifier::publish(Channel& channel) {
  if (!channel.ring) return;
  const bool was_broken = channel.ring->broken();
  const bool published = channel.ring->flush();
  if (published) lines_.raise(channel.vector);
  if (channel.ring->broken() && !was_broken) counters_.broken_rings.add();
  // The driver drains the completion ring in its handler; only a backlog needs a
  // second look. Async events may have been raised before it was ready for them.
  const bool unread = published && channel.vector == abi::kVectorAsync;
  if ((channel.ring->waiting() > 0 || unread) && channel.timer == TimerId::kNone)
    remind_later(channel, clock_.now, kFirstReminder);
}

void Notifier::remind_later(Channel& channel, Instant now, Duration delay) {
  channel.delay = delay;
  channel.timer = timers_.set(now + delay, [this, &channel](Instant due) { remind(channel, due); });
}

void Notifier::remind(Channel& channel, Instant now) {
  channel.timer = TimerId::kNone;
  if (channel.ring->broken()) return;
  if (channel.ring->flush() || channel.ring->unconsumed() > 0) lines_.raise(channel.vector);
  if (channel.ring->waiting() > 0 || channel.ring->unconsumed() > 0) {
    remind_later(channel, now, std::min(channel.delay * 2, kLastReminder));
  }
}

}  // namespace paravane::device
