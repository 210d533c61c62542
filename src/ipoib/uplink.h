// Uplink: an InfiniBand port as the uplink NIC of a distributed switch. It turns frames of VMs into
// datagrams of IP over InfiniBand (RFC 4391) and back, by the method of Mellanox's eIPoIB driver:
// each MAC address of this side has a queue pair; an address of the other side appears as a MAC
// that is made of its queue pair's number and LID (remote_mac.h); ARP and neighbour discovery are
// rewritten, everything else of IP passes as it is. Other protocols have no place in IPoIB and are
// dropped.
//
// VLAN N is the partition 0x8000 + N. Broadcasts and multicasts go to the partition's broadcast
// group. A frame above the partition's MTU is answered as a router would answer it.
//
// Frames come from VMs and packets from other hosts: both are checked, bounded and counted. A VM
// reaches no queue pair of management. The subnet's thread only.

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
#include "ipoib/membership.h"
#include "ipoib/own_addresses.h"
#include "ipoib/paths.h"
#include "ipoib/remote_mac.h"
#include "ipoib/uplink_counters.h"
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
};

class Uplink final : private subnet::DatagramReceiver,
                     private subnet::PortUser,
                     private Membership::Listener,
                     private Paths::Listener {
 public:
  static constexpr std::size_t kMostPartitions = 128;
  // Before it is tried again to hear a group for which there was no queue pair.
  static constexpr Duration kPause = std::chrono::seconds(1);

  // All outlive us.
  Uplink(subnet::HostAdapter& adapter, subnet::PortNumber port, const TurnClock& clock,
         FrameSink& sink);
  ~Uplink() override;
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // Joins the VLAN's partition. 0: of untagged frames. False: there are too many.
  bool add_vlan(std::uint16_t vlan);
  void remove_vlan(std::uint16_t vlan);

  // A frame of a VM, without a tag, in a VLAN that was added; in another it is dropped.
  void on_frame(std::uint16_t vlan, std::span<const std::byte> frame);

  void on_time(Instant now);
  Instant next_deadline() const;

  // ---- What is ----
  subnet::HostAdapter& adapter() const { return adapter_; }
  subnet::PortNumber port() const { return port_; }
  std::size_t addresses() const { return addresses_.size(); }
  const Paths& paths() const { return paths_; }
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
    bool is_group = false;
    std::size_t mtu = 0;   // of an IP packet
    RemoteQueuePair to{};  // not of a group
    Path path{};
  };

  // ---- From VMs ----
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
  IpoibAddress address_of(const AddressFacts& own) const;

  // ---- To VMs ----
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
  // The MAC that stands for a queue pair there; nullopt: it cannot have one, or a VM here has it.
  std::optional<MacBytes> mac_of(std::uint16_t vlan, const RemoteQueuePair& remote) const;
  // Whether a VM here has spoken with this MAC, not longer ago than a bridge remembers: a VM that
  // takes the MAC of another node must go on, as on Ethernet.
  bool is_vm(const MacBytes& mac, std::uint16_t vlan) const;
  // To which a packet goes as a frame.
  static MacBytes mac_for(const Arrival& arrival, std::span<const std::byte> packet);
  // nullptr: `address` is not one of ours in the VLAN.
  const AddressFacts* own_at(std::uint16_t vlan, const IpoibAddress& address) const;
  // The MAC of what is at `address`, as far as a packet that came from `arrival.from` may say it.
  std::optional<MacBytes> mac_of_sender(const Arrival& arrival, const IpoibAddress& address);

  // ---- subnet::DatagramReceiver ----
  void on_datagram(std::uint32_t queue_pair, const wire::infiniband::Datagram& packet) override;
  // ---- subnet::PortUser ----
  void on_port_change() override { has_port_changed_ = true; }
  void on_register_again() override { registers_again_ = true; }
  // ---- Membership::Listener ----
  void on_membership(Membership& membership) override;
  // ---- Paths::Listener ----
  void on_path(std::vector<Paths::WaitingFrame> frames) override;
  void on_no_path(std::size_t frames) override { counters_.no_path.add(frames); }

  // Hears the group from now on, or from later.
  void listen(Partition& partition, const BroadcastGroup& group);
  void stop_listening(Partition& partition);
  void follow_port();
  // A partition was left for the whole port. Untagged frames and those of a VLAN may be in one:
  // what stays in it joins again.
  void join_again(std::uint16_t left);
  // Paths hold for the LID that the port had.
  void follow_lid();
  std::uint16_t own_lid() const { return adapter_.port(port_)->lid(); }

  subnet::HostAdapter& adapter_;
  const subnet::PortNumber port_;
  const TurnClock& clock_;
  FrameSink& sink_;
  UplinkCounters counters_;
  AdministrationClient client_;
  Paths paths_;
  OwnAddresses addresses_;
  std::map<std::uint16_t, Partition> partitions_;     // by VLAN
  std::map<std::uint32_t, std::uint16_t> listeners_;  // VLAN, by the queue pair of a partition
  // Seen within calls of the port, and followed in the next on_time().
  bool has_port_changed_ = true;
  bool registers_again_ = false;
  std::uint16_t paths_lid_ = 0;       // for which paths_ are; 0: the port was not active
  std::vector<std::byte> sent_;       // of one packet, reused
  std::vector<std::byte> delivered_;  // of one frame, reused
};

}  // namespace paravane::ipoib
