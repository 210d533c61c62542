// Notifier: sends completion notifications (interrupt vector 2) and asynchronous events (vector 1)
// to the guest, each through a ring of its own.
//
// Asynchronous events wait until the guest's driver has finished its registration, because the
// driver's handler ignores earlier events. The registration has finished when a process opens the
// device for the first time, or when the driver writes the control value UNQUIESCE. While the guest
// leaves entries unread, the vector is raised again at increasing intervals.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "abi/ring_state.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "device/interrupt_lines.h"
#include "device/pvrdma_device.h"
#include "device/queues/notification_ring.h"

namespace paravane::device {

// The notice of an event; `info`: the handle of its object, or the port.
Notice async_notice(abi::AsyncEventType type, std::uint32_t info);

class Notifier {
 public:
  Notifier(InterruptLines& lines, TimerQueue& timers, const TurnClock& clock,
           DeviceCounters& counters);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void start(PageList completion_ring, PageList async_ring);
  void stop();
  void open_gate();
  // Goes on in rings that another process has filled, whose gate was open. If it cannot, it stops.
  // REQUIRES: start() was just called.
  void resume();

  void completion(std::uint32_t cq_handle);
  void async(abi::AsyncEventType type, std::uint32_t info);

  // Drops the waiting notifications about a destroyed object.
  void forget(Notice::About about, std::uint32_t handle);

  // Publishes a bounded number of notices that did not fit before. Call it once per turn. Returns
  // how many notices were checked.
  std::uint32_t flush() { return waits(completion_) || waits(async_) ? flush_waiting() : 0; }
  // Whether more waiting notices may fit. If so, call flush() in the next turn.
  bool has_work() const { return completion_.cut || async_.cut; }

  // The pages of the daemon's memory that the waiting notices occupy, rounded up.
  std::uint32_t pages_kept() const;

  // (docs/state.md) Of load(): `end` is above the handles of all objects. REQUIRES of save(): it
  // was started.
  void save(state::Writer& out) const;
  void load(state::Reader& in, GuestMemory& memory, std::uint32_t end);

 private:
  static constexpr Duration kFirstReminder = std::chrono::milliseconds(2);

  struct Channel {
    std::unique_ptr<NotificationRing> ring;
    abi::InterruptVector vector;
    TimerId timer = TimerId::kNone;
    Duration delay{};
    bool cut = false;  // the last flush stopped at its limit
  };
  // Whether notices of the channel did not fit yet.
  static bool waits(const Channel& channel) {
    return channel.ring != nullptr && !channel.ring->idle();
  }
  std::uint32_t flush_waiting();
  void put(Channel& channel, const Notice& notice);
  std::uint32_t publish(Channel& channel);
  void count_broken(const Channel& channel, bool was_broken);
  void follow_up(Channel& channel, bool published);
  void remind_later(Channel& channel, Instant now, Duration delay);
  void remind(Channel& channel, Instant now);
  void stop(Channel& channel);
  static void save(const Channel& channel, state::Writer& out);
  void load(Channel& channel, state::Reader& in, GuestMemory& memory, std::uint32_t end);

  InterruptLines& lines_;
  TimerQueue& timers_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  Channel completion_{nullptr, abi::kVectorCompletion};
  Channel async_{nullptr, abi::kVectorAsync};
  bool gate_open_ = false;
};

}  // namespace paravane::device
