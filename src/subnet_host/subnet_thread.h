// SubnetThread: the thread that owns this host's part of an InfiniBand subnet: its switch, its
// adapters, their IPoIB uplinks and captures, the cables to other hosts, and the umad door. It
// starts with the first adapter that is added.
//
// It sleeps until a packet, a program at the door, a message or a deadline needs it, and it never
// touches what the worker owns: an RDMA guest's work does not wait for it.
//
// A lack of memory costs what is under way, a packet or a program's message, and is logged. So is
// an error of its event loop, of which it tells: the thread goes on, with a pause in each turn.
//
// post() and ask() may be called from any thread; what they are given runs on this one.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/result.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "subnet/subnet.h"
#include "subnet_host/host_cables.h"
#include "subnet_host/host_uplinks.h"
#include "subnet_host/link_watch.h"
#include "subnet_host/port_captures.h"
#include "subnet_host/subnet_parcel.h"
#include "umad/umad_door.h"

namespace paravane::subnet_host {

struct SubnetThreadConfig {
  std::string host;  // its name, which its nodes tell
  std::uint64_t switch_guid = 0;
  // A tap of this IPoIB uplink is gone. Called from the subnet's thread.
  std::function<void(const std::string& uplink)> uplink_lost{};
  // The line of the cable to this host is lost, and why. Called from the subnet's thread.
  HostCables::OnLost cable_lost{};
  // A port, manager or cable is up, or not any more. Called from the subnet's thread.
  LinkWatch::Tell link_news{};
  // The thread cannot wait for its sockets any more, and why. Called from the subnet's thread, once
  // until it can again.
  std::function<void(const std::string& why)> trouble{};
};

class SubnetThread {
 public:
  // The thread runs from here on. Errors: kIo (also: there can be no more threads).
  static Result<std::unique_ptr<SubnetThread>> start(const SubnetThreadConfig& config);
  // Ends the thread, and with it the subnet.
  ~SubnetThread();
  SubnetThread(const SubnetThread&) = delete;
  SubnetThread& operator=(const SubnetThread&) = delete;

  // ---- Any thread ----
  bool post(Mailbox::Message message) { return mailbox_.post(std::move(message)); }
  // See Mailbox::ask().
  template <typename Function>
  auto ask(Function function) {
    return mailbox_.ask(std::move(function), kAskLimit);
  }

  // ---- From one engine to the next ----
  // The thread does nothing more from here on until thaw(), and what it left is returned. nullopt:
  // it did not respond in time, and goes on. Throws std::bad_alloc: likewise.
  std::optional<SubnetParcel> freeze();
  void thaw();
  // Has the subnet as it was there, for as many of the adapters as it can; returns what begins anew
  // instead, and why. REQUIRES: no adapter was added. Throws std::bad_alloc, as Subnet::adopt().
  // Its own thread only.
  std::vector<std::string> adopt(SubnetParcel parcel,
                                 const std::vector<subnet::Subnet::AdapterWish>& wishes);

  // ---- Its own thread only: from messages ----
  subnet::Subnet& subnet() { return subnet_; }
  umad::UmadDoor& door() { return door_; }
  HostUplinks& uplinks() { return uplinks_; }
  PortCaptures& captures() { return captures_; }
  HostCables& cables() { return cables_; }
  // Its captures, uplinks, links and lines end first.
  void remove(const std::string& adapter);
  // A line of the cable to this host. If it cannot be used, it is closed, and that is told as a
  // loss.
  void connect(const std::string& host, std::uint64_t number,
               std::unique_ptr<cable::ByteStream> stream);
  // A tap of an uplink of this port. If it cannot be used, it is closed and that is logged.
  void open_uplink(const std::string& adapter, subnet::PortNumber port, UplinkTap tap);

 private:
  static constexpr std::chrono::milliseconds kAskLimit{5000};
  // Of an engine that hands over; the guests of its worker wait meanwhile.
  static constexpr std::chrono::milliseconds kFreezeLimit{500};
  static constexpr std::chrono::milliseconds kPause{20};  // after a turn that failed

  SubnetThread(const SubnetThreadConfig& config, std::unique_ptr<EventLoop> loop);
  void run();
  // False: memory was lacking for a part of it.
  bool take_turn();
  void note(const Status& polled);
  // How long to sleep; zero: not at all.
  std::optional<Duration> rest();

  std::unique_ptr<EventLoop> loop_;
  Mailbox mailbox_;
  TimerQueue timers_;
  TurnClock clock_;
  subnet::Subnet subnet_;
  umad::UmadDoor door_;
  HostUplinks uplinks_;
  PortCaptures captures_;
  const HostCables::OnLost on_cable_lost_;
  HostCables cables_;
  LinkWatch watch_;
  const std::function<void(const std::string& why)> on_trouble_;
  LimitedLog log_;
  bool is_busy_ = false;      // the subnet has more to do
  bool has_frames_ = false;   // of VMs, that were not read yet
  bool has_packets_ = false;  // of other hosts, likewise
  bool has_to_send_ = false;  // to other hosts, likewise
  bool has_trouble_ = false;
  std::atomic<bool> frozen_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace paravane::subnet_host
