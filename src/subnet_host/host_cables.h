// HostCables: the cables from this host's switch to those of other hosts, by the name of the host.
//
// What arrives is taken in portions, from one cable after the other, and what waits is sent to one
// cable after the other, each for a time. So hosts that flood their cables hold the thread for a
// bounded time, also with packets that go on to many cables, and none keeps out another. The
// subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/turn_clock.h"
#include "cable/cable.h"
#include "subnet/subnet.h"

namespace paravane::subnet_host {

class HostCables {
 public:
  static constexpr std::size_t kFramesPerTurn = 2048;  // of all cables
  static constexpr std::size_t kFramesOfOne = 64;      // at a time
  // Of receive(), and of flush(), in a turn.
  static constexpr Duration kTimePerTurn = std::chrono::milliseconds(4);

  // The line to a host is lost, and why. `number`: as it was connected with.
  using OnLost =
      std::function<void(const std::string& host, std::uint64_t number, const std::string& reason)>;

  // All outlive us. `time` says what time it is, also within a turn.
  HostCables(subnet::Subnet& subnet, EventLoop& loop, const TurnClock& clock, OnLost on_lost,
             std::function<Instant()> time = std::chrono::steady_clock::now)
      : subnet_(subnet),
        loop_(loop),
        clock_(clock),
        on_lost_(std::move(on_lost)),
        time_(std::move(time)) {}
  ~HostCables();
  HostCables(const HostCables&) = delete;
  HostCables& operator=(const HostCables&) = delete;

  // The hosts to which there is a cable, connected or not. Those to other hosts are pulled out. A
  // host for which the switch has no port has none.
  void set_hosts(const std::set<std::string>& hosts);
  // A line to the host, which replaces the one before. Errors: kNotFound (there is no cable), kIo.
  Status connect(const std::string& host, std::uint64_t number,
                 std::unique_ptr<cable::ByteStream> stream);
  // Ends the line with this number, if it is there.
  void cut(const std::string& host, std::uint64_t number);
  // The hosts from which subnet management is taken.
  void set_managers(std::set<std::string> hosts);

  // Of the line to a host; nullptr: there is no cable, or it is not connected.
  const cable::Line* line(const std::string& host) const;
  // Whether the host has said that its port of the cable is disabled, or asleep.
  bool other_end_is_down(const std::string& host) const;

  // Takes what has arrived. Returns whether more is to be done at once.
  bool receive();
  // Sends what waits; at the end of a turn. Returns whether more is to be done at once.
  bool flush();
  void on_time(Instant now);
  Instant next_deadline() const;

 private:
  struct End {
    std::unique_ptr<cable::Cable> cable;
    std::uint64_t number = 0;  // of its line
    std::uint64_t judged = 0;  // of the line that has said hello, and may stay
    int fd = -1;               // that is watched; -1: none
    bool waits_to_write = false;
  };
  using Ends = std::map<std::string, End>;

  // Calls `act` for one cable after the other, beginning with that of `next`, until the turn's time
  // is over or `act` says so: then `next` is the one after, and true is returned.
  template <typename Act>
  bool for_a_time(std::string& next, const Act& act);
  void watch_writing(End& end);
  void drop_line(End& end);
  void judge(const std::string& host, End& end);
  // The other host whose line has the switch with the GUID of this one's; empty: none.
  std::string host_with_guid_of(const End& end) const;
  void let_manage(const std::string& host, const End& end);

  subnet::Subnet& subnet_;
  EventLoop& loop_;
  const TurnClock& clock_;
  const OnLost on_lost_;
  const std::function<Instant()> time_;
  Ends ends_;
  std::set<std::string> managers_;
  // The hosts whose turn it is to be heard first, and to be sent to.
  std::string next_heard_;
  std::string next_sent_;
};

}  // namespace paravane::subnet_host
