// WantedGroups: the multicast groups that VMs of an uplink listen to, in each VLAN, as they have
// said by IGMP and MLD (group_report.h). A VM that does not repeat it is forgotten after the time
// that a router waits (RFC 3376, 8.4); where the last listener has left, the group stays for a
// moment more, since another may have been silent because of it (RFC 2236, 3).
//
// Bounded: the groups and the listeners of a MAC, of a VLAN and of all. What is reported in a VLAN
// costs others nothing but half of the room. A plain value; the subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/instant.h"
#include "ipoib/frame.h"
#include "ipoib/group_name.h"
#include "ipoib/group_query.h"

namespace paravane::ipoib {

// A group in a VLAN.
struct VlanGroup {
  std::uint16_t vlan = 0;
  GroupName name{};
  friend auto operator<=>(const VlanGroup&, const VlanGroup&) = default;
};

class WantedGroups {
 public:
  static constexpr std::size_t kMostOfMac = 32;
  static constexpr std::size_t kMostOfVlan = 256;
  static constexpr std::size_t kMostListenersOfVlan = 2048;
  static constexpr std::size_t kMost = 2 * kMostOfVlan;
  static constexpr std::size_t kMostListeners = 2 * kMostListenersOfVlan;

  enum class Verdict : std::uint8_t { kNew, kKnown, kNoRoom };
  struct Listener {
    std::uint16_t vlan = 0;
    MacBytes mac{};
    GroupName group{};
    friend auto operator<=>(const Listener&, const Listener&) = default;
  };
  Verdict want(const Listener& listener, Instant now) {
    return want_until(listener, now + kMembershipLife);
  }
  // As above; of one that an engine before has heard.
  Verdict want_until(const Listener& listener, Instant until);
  // True: that was the last listener, and the group ends soon.
  bool leave(const Listener& listener, Instant now);
  // A group that a MAC listens to, and for how long that holds without another report.
  struct Held {
    Listener listener;
    Duration left{};
  };
  // Forgets all that a MAC listens to, and says what it was.
  std::vector<Held> give_up(std::uint16_t vlan, const MacBytes& mac, Instant now);
  void forget(std::uint16_t vlan);
  // The groups that have ended.
  std::vector<VlanGroup> expire(Instant now);
  // At which expire() is to be called, or earlier; kNever: nothing ends.
  Instant next_deadline() const { return next_; }
  bool contains(const VlanGroup& group) const { return groups_.contains(group); }
  std::size_t size() const { return groups_.size(); }
  std::size_t listeners() const { return listeners_.size(); }
  // Each, with the time until when it is known.
  const std::map<Listener, Instant>& all() const { return listeners_; }

 private:
  struct Group {
    std::size_t listeners = 0;
    Instant until = kNever;  // without listeners
  };
  struct Share {  // of a VLAN
    std::size_t groups = 0;
    std::size_t listeners = 0;
  };
  using Groups = std::map<VlanGroup, Group>;
  using Listeners = std::map<Listener, Instant>;

  bool has_room(const Listener& listener, bool is_new) const;
  // One of its listeners has gone. True: it was the last, and the group stays until then.
  bool lose_listener(const VlanGroup& key, Instant until);

  Groups::iterator erase(Groups::iterator group);
  Listeners::iterator erase(Listeners::iterator listener);

  Groups groups_;
  Listeners listeners_;                    // until when
  std::map<std::uint16_t, Share> shares_;  // of VLANs that have had any
  Instant next_ = kNever;
};

}  // namespace paravane::ipoib
