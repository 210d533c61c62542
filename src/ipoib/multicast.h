// Multicast: the IP multicast of an uplink. It follows what VMs report of the groups that they
// listen to (IGMP, MLD), has the port join these groups in the partition of their VLAN, and says to
// which group of the subnet a packet of a VM goes. 224.0.0.1 and ff02::1, which no node reports,
// are joined in each partition. A VM that speaks in a group of 224.0.0.0/24 listens to it, too.
//
// VMs repeat their reports if they are asked, which a router does where there is one. So this asks
// the VMs of each VLAN when its partition comes into use, and every 125 s: by IGMP from no address,
// and by MLD in the port's name as long as no other node of the link does. Queries go to VMs alone.
//
// Bounded as its parts are. The subnet's thread only.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "ipoib/administration_client.h"
#include "ipoib/broadcast_group.h"
#include "ipoib/frame.h"
#include "ipoib/group_memberships.h"
#include "ipoib/group_report.h"
#include "ipoib/sender_groups.h"
#include "ipoib/wanted_groups.h"
#include "subnet/host_adapter.h"

namespace paravane::ipoib {

class Multicast {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // A packet of this Ethernet type, for the VMs of the VLAN. This is not called from there.
    virtual void on_query(std::uint16_t vlan, std::uint16_t type,
                          std::span<const std::byte> packet) = 0;
  };

  // All outlive us.
  Multicast(subnet::HostAdapter& adapter, subnet::PortNumber port, AdministrationClient& client,
            const TurnClock& clock, Listener& listener)
      : client_(client),
        clock_(clock),
        listener_(listener),
        memberships_(adapter, port, client, clock),
        senders_(adapter.group_uses(port), client, clock) {}

  // The VLAN's partition is in use, and `queue_pair` hears its broadcast group.
  void start(std::uint16_t vlan, const BroadcastGroup& broadcast, std::uint32_t queue_pair);
  // It is not. What VMs have reported is still known.
  void stop(std::uint16_t vlan);
  void forget(std::uint16_t vlan);
  // What an engine before knew of a VLAN that is not in use yet: a group that it had joined, and
  // what a VM has reported, with the time for which it holds; this also of another uplink.
  void adopt(std::uint16_t vlan, const BroadcastGroup& joined);
  void adopt(const WantedGroups::Listener& listener, Duration left);
  // Forgets what a VM has reported, which another uplink of the team has from now on: its groups,
  // each with the time for which it holds.
  std::vector<WantedGroups::Held> give_up(std::uint16_t vlan, const MacBytes& mac);
  // Administration has forgotten its members.
  void register_again();

  enum class Seen : std::uint8_t { kFine, kBadReport, kNoRoom };
  // A frame of a VM to a group. REQUIRES: the VLAN's partition is in use.
  Seen see(std::uint16_t vlan, const EthernetFrame& frame);
  // A packet of IPv6 from the subnet.
  void hear(std::uint16_t vlan, std::span<const std::byte> packet);
  // Where the IP packet of a VM goes that is for more than one node. Valid until the next call.
  const BroadcastGroup& group_for(std::uint16_t vlan, std::span<const std::byte> packet,
                                  const BroadcastGroup& broadcast);

  void on_time(Instant now);
  Instant next_deadline() const;

  // ---- What is ----
  const WantedGroups& wanted() const { return wanted_; }
  const GroupMemberships& memberships() const { return memberships_; }
  const SenderGroups& senders() const { return senders_; }

 private:
  struct Partition {
    BroadcastGroup broadcast{};
    Instant asks_at = kNever;  // for all groups
    bool is_first = true;      // of two that are nearer to each other
    Instant is_asked_until{};  // by another node, of MLD
  };
  Seen take(std::uint16_t vlan, const MacBytes& mac, const GroupMessage& message);
  void want(std::uint16_t vlan, const MacBytes& mac, const IpGroup& group, Seen& seen);
  void ask_for_all(std::uint16_t vlan, Partition& partition);
  void ask_for(std::uint16_t vlan, const IpGroup& group);
  bool is_asked_by_other(const Partition& partition) const {
    return clock_.now < partition.is_asked_until;
  }
  wire::infiniband::Ipv6Address own_address() const;

  AdministrationClient& client_;
  const TurnClock& clock_;
  Listener& listener_;
  WantedGroups wanted_;
  GroupMemberships memberships_;
  SenderGroups senders_;
  std::map<std::uint16_t, Partition> partitions_;  // in use, by VLAN
};

}  // namespace paravane::ipoib
