// Notifier: sends notifications to the guest: completion notifications (vector 2) and asynchronous
// events (vector 1), each through a ring of its own.
//
// Asynchronous events wait until the guest's driver has finished registering (its handler ignores
// them before that): the gate opens with the first user context or UNQUIESCE. While the guest
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
#include "device/notification_ring.h"
#include "device/pvrdma_device.h"

namespace paravane::device {

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

  void completion(std::uint32_t cq_handle);
  void async(abi::AsyncEventType type, std::uint32_t info);

  // Nothing about a destroyed object is published any more.
  void forget(Notice::About about, std::uint32_t handle);

  // Publishes what did not fit before: once a turn, a bounded number. Returns how many
  // notices it looked at.
  std::uint32_t flush();
  // There may be room for more that waits: call flush() in the next turn.
  bool has_work() const { return completion_.cut || async_.cut; }

  // Pages of our own memory that what waits takes, rounded up.
  std::uint32_t pages_kept() const;

 private:
  struct Channel {
    std::unique_ptr<NotificationRing> ring;
    abi::InterruptVector vector;
    TimerId timer = TimerId::kNone;
    Duration delay{};
    bool cut = false;  // the last flush ended for its bound
  };
  void put(Channel& channel, const Notice& notice);
  std::uint32_t publish(Channel& channel);
  void remind_later(Channel& channel, Instant now, Duration delay);
  void remind(Channel& channel, Instant now);
  void stop(Channel& channel);

  InterruptLines& lines_;
  TimerQueue& timers_;
  const TurnClock& clock_;
  DeviceCounters& counters_;
  Channel completion_{nullptr, abi::kVectorCompletion};
  Channel async_{nullptr, abi::kVectorAsync};
  bool gate_open_ = false;
};

}  // namespace paravane::device
