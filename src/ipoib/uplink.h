// Uplink: an InfiniBand port as the uplink NIC of a distributed switch. It turns frames of VMs into
// datagrams of IP over InfiniBand (RFC 4391) and back, by the method of Mellanox's eIPoIB driver:
// each MAC address of this side has a queue pair; an address of the other side appears as a MAC
// that is made of its queue pair's number and LID (remote_mac.h); ARP and neighbour discovery are
// rewritten, everything else of IP passes as it is. Other protocols have no place in IPoIB and are
// dropped.
//
// VLAN N is the partition 0x8000 + N. Broadcasts go to the partition's broadcast group, and IP
// multicasts to the group of theirs that nodes have joined, if there is one (multicast.h). A frame
// above the partition's MTU is answered as a router would answer it.
//
// Frames come from VMs and packets from other hosts: both are checked, bounded and counted. A VM
// reaches no queue pair of management. A port may have several uplinks, which reach each other as
// they reach those of other ports. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "ipoib/administration_client.h"
#include "ipoib/frame.h"
#include "ipoib/link_addresses.h"
#include "ipoib/membership.h"
#include "ipoib/multicast.h"
#include "ipoib/own_addresses.h"
#include "ipoib/paths.h"
#include "ipoib/remote_mac.h"
#include "ipoib/remote_nodes.h"
#include "ipoib/uplink_counters.h"
#include "ipoib/uplink_image.h"
#include "subnet/host_adapter.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::ipoib {

using wire::infiniband::IpoibAddress;

// The Ethernet side of an uplink.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // `frame` has no tag, and is valid during the call. The uplink is not called from there.
  virtual void deliver(std::uint16_t vlan, std::span<const std::byte> frame) = 0;
  // A VM's address was seen for the first time, or again after it was forgotten. Called when its
  // frame has been handled, from within on_frame().
  virtual void on_new_address(const MacBytes& /*mac*/, std::uint16_t /*vlan*/) {}
};

class Uplink final : private subnet::DatagramReceiver,
                     private subnet::PortUser,
                     private Membership::Listener,
                     private Multicast::Listener,
                     private Paths::Listener {
 public:
  static constexpr std::size_t kMostPartitions = 128;
  // Before it is tried again to hear a group for which there was no queue pair.
  static constexpr Duration kPause = std::chrono::seconds(1);
  // What is taken over holds for so long: a manager may have changed it since.
  static constexpr Duration kInheritance = std::chrono::seconds(10);

  // All outlive us.
  Uplink(subnet::HostAdapter& adapter, subnet::PortNumber port, const TurnClock& clock,
         FrameSink& sink);
  ~Uplink() override;
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // Joins the VLAN's partition. 0: of untagged frames. False: there are too many.
  bool add_vlan(std::uint16_t vlan);
  void remove_vlan(std::uint16_t vlan);

  // ---- From one engine to the next ----
  UplinkImage image() const;
  // Goes on from there, each VLAN when it is added within kInheritance. False: the port is not
  // active with the LID that it had, so all begins anew. REQUIRES: no VLAN was added.
  bool adopt(UplinkImage image);
  // The VLANs that can still go on.
  std::vector<std::uint16_t> inherited_vlans() const;

  // A frame of a VM, without a tag, in a VLAN that was added; in another it is dropped.
  void on_frame(std::uint16_t vlan, std::span<const std::byte> frame);

  // ---- Teams ----
  // What an uplink knows of a VM's address: the IP addresses that the VM has claimed with it, and
  // the groups that it listens to.
  struct OfAddress {
    ClaimedAddresses claims;
    std::vector<WantedGroups::Held> groups;
  };
  // Forgets a VM's address, which another uplink of the team has from now on. nullopt: it is
  // unknown here.
  std::optional<OfAddress> give_up(const MacBytes& mac, std::uint16_t vlan);
  // Joins the groups of a VM's address that is here from now on, and tells all nodes of the
  // partition.
  void take_over(const MacBytes& mac, std::uint16_t vlan, const OfAddress& left);

  void on_time(Instant now);
  Instant next_deadline() const;

  // ---- What is ----
  bool has_vlan(std::uint16_t vlan) const { return partitions_.contains(vlan); }
  subnet::HostAdapter& adapter() const { return adapter_; }
  subnet::PortNumber port() const { return port_; }
  std::size_t addresses() const { return addresses_.size(); }
  const Paths& paths() const { return paths_; }
  const Multicast& multicast() const { return multicast_; }
  std::vector<const Membership*> memberships() const;
  const UplinkCounters& counters() const { return counters_; }

 private:
  struct Partition {
    std::unique_ptr<Membership> membership;
    // Hears the broadcast group, once for all addresses; nullopt: it is not joined.
    std::optional<std::uint32_t> listener{};
    Instant listens_at = kNever;  // when it is tried again to hear it
  };
  using AddressFacts = OwnAddresses::Address;

  // Where a frame goes.
  struct Way {
    const BroadcastGroup* group = nullptr;  // nullptr: to one node
    std::size_t mtu = 0;                    // of an IP packet
    RemoteQueuePair to{};                   // not of a group
    Path path{};
  };

  // ---- From VMs (uplink_from_vms.cc) ----
  void take_frame(std::uint16_t vlan, const EthernetFrame& frame, std::span<const std::byte> bytes);
  std::optional<Way> find_way(const BroadcastGroup& group, const EthernetFrame& frame,
                              std::uint16_t vlan, std::span<const std::byte> bytes);
  void send_arp(const BroadcastGroup& group, const AddressFacts& own, const EthernetFrame& frame,
                const Way& way);
  void send_ipv6(const BroadcastGroup& group, const AddressFacts& own, const EthernetFrame& frame,
                 const Way& way);
  void send(const BroadcastGroup& group, const AddressFacts& own, std::uint16_t type,
            std::span<const std::byte> packet, const Way& way, std::size_t frame_bytes);
  // Tells the sender of a frame that is above `mtu`.
  void refuse_size(std::uint16_t vlan, const EthernetFrame& frame, std::size_t mtu);

  // ---- To VMs (uplink_to_vms.cc) ----
  struct Arrival {
    std::uint16_t vlan = 0;
    const AddressFacts* own = nullptr;  // nullptr: it came to the broadcast group
    RemoteQueuePair from{};
    const wire::infiniband::DatagramHeaders* headers = nullptr;
    std::uint16_t partition = 0;
  };
  void take_arp(const Arrival& arrival, std::uint16_t type, std::span<const std::byte> packet);
  void take_ipv6(const Arrival& arrival, std::span<const std::byte> packet);
  void deliver(const Arrival& arrival, const MacBytes& destination, std::uint16_t type,
               std::span<const std::byte> packet);
  // To which a packet goes as a frame.
  static MacBytes mac_for(const Arrival& arrival, std::span<const std::byte> packet);
  // The MAC of what is at `address`, as far as a packet that came from `arrival.from` may say it.
  std::optional<MacBytes> mac_of_sender(const Arrival& arrival, const IpoibAddress& address);

  // ---- subnet::DatagramReceiver ----
  void on_datagram(std::uint32_t queue_pair, const wire::infiniband::Datagram& packet) override;
  // ---- subnet::PortUser ----
  void on_port_change() override { has_port_changed_ = true; }
  void on_register_again() override { registers_again_ = true; }
  // ---- Membership::Listener ----
  void on_membership(Membership& membership) override;
  // ---- Multicast::Listener ----
  void on_query(std::uint16_t vlan, std::uint16_t type, std::span<const std::byte> packet) override;
  // ---- Paths::Listener ----
  void on_path(std::vector<Paths::WaitingFrame> frames) override;
  void on_no_path(std::size_t frames) override { counters_.no_path.add(frames); }

  // The broadcast group and the addresses that the VLAN of a fresh partition had.
  void go_on(std::uint16_t vlan);
  // Hears the group from now on, or from later.
  void listen(Partition& partition, const BroadcastGroup& group);
  void stop_listening(Partition& partition);
  void follow_port();
  // Paths hold for the LID that the port had.
  void follow_lid();
  std::uint16_t own_lid() const { return adapter_.port(port_)->lid(); }
  // The way to another uplink of the port; nullopt: `lid` is not the port's.
  std::optional<Path> path_within(const BroadcastGroup& group, std::uint16_t lid) const;

  subnet::HostAdapter& adapter_;
  const subnet::PortNumber port_;
  const TurnClock& clock_;
  FrameSink& sink_;
  UplinkCounters counters_;
  AdministrationClient client_;
  Paths paths_;
  OwnAddresses addresses_;
  LinkAddresses link_addresses_;
  RemoteNodes remotes_;
  Multicast multicast_;
  std::map<std::uint16_t, Partition> partitions_;     // by VLAN
  std::map<std::uint32_t, std::uint16_t> listeners_;  // VLAN, by the queue pair of a partition
  UplinkImage inherited_;                             // what is left of it
  Instant inherited_until_ = Instant::min();
  // Seen within calls of the port, and followed in the next on_time().
  bool has_port_changed_ = true;
  bool registers_again_ = false;
  std::uint16_t paths_lid_ = 0;       // for which paths_ are; 0: the port was not active
  std::vector<std::byte> sent_;       // of one packet, reused
  std::vector<std::byte> delivered_;  // of one frame, reused
};

}  // namespace paravane::ipoib
