#include "device/notifier.h"

#include <algorithm>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::device {
namespace {

constexpr Duration kLastReminder = std::chrono::seconds(1);

// Of each ring in a turn.
constexpr std::uint32_t kNoticesPerTurn = 512;

Notice::About subject_of(abi::AsyncEventType type) {
  switch (type) {
    case abi::kEventCqError: return Notice::About::kCompletionQueue;
    case abi::kEventQpFatal:
    case abi::kEventQpRequestError:
    case abi::kEventQpAccessError:
    case abi::kEventCommEstablished:
    case abi::kEventSendQueueDrained:
    case abi::kEventLastWqeReached: return Notice::About::kQueuePair;
    case abi::kEventSrqError:
    case abi::kEventSrqLimitReached: return Notice::About::kSharedReceiveQueue;
    case abi::kEventDeviceFatal:
    case abi::kEventPortActive:
    case abi::kEventPortError: break;
  }
  return Notice::About::kPort;
}

}  // namespace

Notice async_notice(abi::AsyncEventType type, std::uint32_t info) {
  return {.element = std::uint64_t{info} << 32 | type,
          .about = subject_of(type),
          .type = static_cast<std::uint8_t>(type),
          .handle = info};
}

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
  channel.cut = false;
}

void Notifier::resume() {
  gate_open_ = true;
  if (!completion_.ring->resume() || !async_.ring->resume()) stop();
}

void Notifier::open_gate() {
  if (std::exchange(gate_open_, true)) return;
  publish(async_);
}

void Notifier::completion(std::uint32_t cq_handle) {
  if (!completion_.ring) return;
  put(completion_, {.element = cq_handle,
                    .about = Notice::About::kCompletionQueue,
                    .type = 0,
                    .handle = cq_handle});
}

void Notifier::async(abi::AsyncEventType type, std::uint32_t info) {
  if (!async_.ring) return;
  counters_.async_events.add();
  put(async_, async_notice(type, info));
}

// Behind others it waits for the turn's flush(): a guest that makes room all the time
// must not have each notice publish a thousand more. One that fits takes no memory, because the
// turn may be a peer's.
void Notifier::put(Channel& channel, const Notice& notice) {
  const bool was_broken = channel.ring->broken();
  const bool is_open = gate_open_ || &channel == &completion_;
  const bool at_once = is_open && channel.ring->idle();
  const bool published = at_once && channel.ring->publish(notice);
  if (!published) channel.ring->put(notice);
  count_broken(channel, was_broken);
  if (at_once) follow_up(channel, published);
}

void Notifier::forget(Notice::About about, std::uint32_t handle) {
  if (!async_.ring) return;
  completion_.ring->forget(about, handle);
  async_.ring->forget(about, handle);
}

std::uint32_t Notifier::flush_waiting() {
  std::uint32_t taken = 0;
  if (waits(completion_)) taken += publish(completion_);
  if (gate_open_ && waits(async_)) taken += publish(async_);
  return taken;
}

std::uint32_t Notifier::pages_kept() const {
  if (!async_.ring) return 0;
  return completion_.ring->pages_kept() + async_.ring->pages_kept();
}

std::uint32_t Notifier::publish(Channel& channel) {
  if (!channel.ring) return 0;
  const bool was_broken = channel.ring->broken();
  const NotificationRing::Flushed flushed = channel.ring->flush(kNoticesPerTurn);
  channel.cut = flushed.cut;
  count_broken(channel, was_broken);
  follow_up(channel, flushed.published);
  return flushed.taken;
}

void Notifier::count_broken(const Channel& channel, bool was_broken) {
  if (channel.ring->broken() && !was_broken) counters_.broken_rings.add();
}

void Notifier::follow_up(Channel& channel, bool published) {
  if (published) lines_.raise(channel.vector);
  // The driver drains the completion ring in its handler; only a backlog needs a
  // second look. Async events may have been raised before it was ready for them.
  const bool unread = published && channel.vector == abi::kVectorAsync;
  if ((channel.ring->idle() && !unread) || channel.timer != TimerId::kNone) return;
  runs_in_memory([&] { remind_later(channel, clock_.now, kFirstReminder); });  // or the next one
}

void Notifier::remind_later(Channel& channel, Instant now, Duration delay) {
  channel.delay = delay;
  channel.timer = timers_.set(now + delay, [this, &channel](Instant due) { remind(channel, due); });
}

void Notifier::remind(Channel& channel, Instant now) {
  channel.timer = TimerId::kNone;
  if (channel.ring->broken()) return;
  const NotificationRing::Flushed flushed = channel.ring->flush(kNoticesPerTurn);
  channel.cut = flushed.cut;
  if (flushed.published || channel.ring->unconsumed() > 0) lines_.raise(channel.vector);
  if (!channel.ring->idle() || channel.ring->unconsumed() > 0) {
    remind_later(channel, now, std::min(channel.delay * 2, kLastReminder));
  }
}

}  // namespace paravane::device
