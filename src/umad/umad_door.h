// UmadDoor: the socket of the host over which programs use its virtual adapters as they use a
// kernel's through libibumad: opensm, and the diagnostics (door_protocol.h; docs/umad.md).
//
// The socket's mode decides which users may connect. Connections are bounded. The subnet's thread
// only.

#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "base/doorway.h"
#include "base/event_loop.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "subnet/subnet.h"
#include "umad/control_line.h"

namespace paravane::umad {

class UmadDoor {
 public:
  static constexpr std::size_t kMostConnections = 64;

  // All outlive us; the owner runs the timers.
  UmadDoor(subnet::Subnet& subnet, EventLoop& loop, TimerQueue& timers, const TurnClock& clock);
  ~UmadDoor();

  // `listener`: a listening, non-blocking socket (SOCK_SEQPACKET). Errors: kIo.
  Status open(UniqueFd listener);
  // Before an adapter is removed from the subnet.
  void forget(const subnet::HostAdapter& adapter);
  std::size_t connections() const { return lines_.size(); }
  // Those that were closed at once, as there were too many. It is logged.
  std::uint64_t refused() const { return refused_; }
  // Before what sockets bring in a turn of the thread: from now on what each program says in a turn
  // is bounded.
  void begin_turn() {
    ++room_.turn.number;
    room_.turn.share = MessageBudget::share_of(lines_.size());
  }
  // How many IPoIB uplinks the adapters make, for programs that ask.
  void set_ipoib_uplinks(std::uint32_t uplinks) { room_.ipoib_uplinks = uplinks; }

 private:
  void on_client(UniqueFd client);

  subnet::Subnet& subnet_;
  EventLoop& loop_;
  const TurnClock& clock_;
  Doorway doorway_;
  ControlLine::Room room_;
  std::uint64_t refused_ = 0;
  std::list<std::unique_ptr<ControlLine>> lines_;
};

}  // namespace paravane::umad
