// LinkWatch tells what has changed of this host's part of a subnet (link_news.h): it compares the
// states at the end of a turn with those that were told last. What came and went within a turn is
// not told, and neither is what an operator did: an adapter that is removed takes its ports along.
// A cable that was up and is pulled out, since the other host has gone, is down.
//
// Programs at the umad door and other hosts can have links go up and down as often as they like. So
// of each port, manager and cable kMostTold changes are told within kWindow. What was kept back is
// told later, with the state at that time, and the watch wakes its thread for nothing else.
//
// The subnet's thread only.

#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/log_limit.h"
#include "subnet/subnet.h"
#include "subnet_host/link_news.h"

namespace paravane::subnet_host {

class LinkWatch {
 public:
  static constexpr Duration kWindow = std::chrono::minutes(1);
  static constexpr unsigned kMostTold = 10;
  // For so long a manager of a subnet that was adopted may be away: its program connects again.
  static constexpr Duration kManagersReturn = std::chrono::seconds(10);

  using Tell = std::function<void(const LinkNews& news)>;  // must not wait

  // `tell` may be empty.
  explicit LinkWatch(Tell tell) : tell_(std::move(tell)) {}

  // The subnet is as an engine before has left it, which has told of all that.
  void adopt(const subnet::Subnet& subnet, const subnet::SubnetImage& left, Instant now);
  // After each turn; looks closer only if the subnet has changed or something is due. Throws
  // std::bad_alloc, and what `tell` does: what was not told is told next time.
  void look(const subnet::Subnet& subnet, Instant now);
  // Each port, manager and cable as it is, without a reason.
  static std::vector<LinkNews> states_of(const subnet::Subnet& subnet);
  // When something is told that was kept back; kNever.
  Instant next_deadline() const { return next_; }

 private:
  struct Place {
    LinkNews::Of of;
    std::string name;
    subnet::PortNumber port;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Watched {
    bool is_up = false;  // as seen last
    bool was_told_up = false;
    Instant retry = kNever;  // of what was not told
    LogLimit limit{kWindow, kMostTold};
  };
  using Places = std::map<Place, const subnet::Port*>;
  static Places places_of(const subnet::Subnet& subnet);
  static bool is_up(const Place& place, const subnet::Port& port);
  // nullptr: the cable was pulled out.
  void judge(const Place& place, const subnet::Port* port, Watched& watched, Instant now);
  void forget_gone(const Places& there, Instant now);

  const Tell tell_;
  std::map<Place, Watched> watched_;
  std::uint64_t seen_changes_ = 0;
  Instant next_ = kNever;
};

}  // namespace paravane::subnet_host
