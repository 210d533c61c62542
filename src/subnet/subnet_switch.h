// SubnetSwitch: the virtual switch of a host: a node that forwards packets by the tables that a
// subnet manager wrote, between the ports of this host's adapters and the cables to other hosts.
//
// Packets come from other hosts, which may be hostile: what the tables and the partitions do not
// let through is dropped and counted (IBTA volume 1, 18.2.4). The subnet's thread only.

#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "subnet/forwarding.h"
#include "subnet/link_end.h"
#include "subnet/node.h"
#include "subnet/notices.h"
#include "subnet/packet_queue.h"
#include "subnet/performance_agent.h"
#include "subnet/subnet_image.h"
#include "subnet/subnet_interface.h"

namespace paravane::subnet {

class SubnetSwitch final : public Node, public PacketReceiver, private SubnetInterface::Outlet {
 public:
  // How long a manager that was refused counts: it tries again with each of its sweeps.
  static constexpr Duration kRefusalCounts = std::chrono::minutes(1);

  // `ports`: outer ports, at most kMostSwitchPorts - 1. `queue` and `clock` outlive us.
  SubnetSwitch(std::uint64_t guid, std::string description, PortNumber ports, PacketQueue& queue,
               const TurnClock& clock);
  ~SubnetSwitch() override;

  // `end` outlives us, or is detached before it ends.
  void attach(PortNumber port, LinkEnd& end) { ends_[port] = &end; }
  void detach(PortNumber port);
  bool is_attached(PortNumber port) const { return ends_[port] != nullptr; }
  // Whether an SMP that sets something may come through a port. All may, at first.
  void let_manage(PortNumber port, bool may_manage) { may_manage_[port] = may_manage; }
  bool may_manage(PortNumber port) const { return may_manage_[port]; }
  // A packet of management that came through the port is not taken, which is counted.
  void refuse_management(PortNumber port);
  // Whether that was within kRefusalCounts.
  bool refuses_manager(PortNumber port) const;
  // The port leads to a node of this host: packets that come in through other ports are not taken
  // with that node's LIDs as their source.
  void keep_source(PortNumber port) { keeps_source_[port] = true; }
  // nullptr: nothing is attached.
  LinkEnd* end(PortNumber port) { return ends_[port]; }

  // ---- From one engine to the next ----
  SwitchImage image() const;
  // Whether it is this switch's, and its tables and ports can be so. It may come from an enemy.
  bool can_be(const SwitchImage& image) const;
  // The tables, the notices, and all ports of which `keeps` has the bit; the others begin anew, and
  // the manager is told of those whose link is not what it was. REQUIRES: can_be().
  void adopt(const SwitchImage& image, const PortMask& keeps);

  Forwarding* forwarding() override { return &tables_; }
  const Forwarding& tables() const { return tables_; }

  // ---- PacketReceiver ----
  void on_packet(PortNumber arrived, Packet packet) override;
  // ---- Port::Listener ----
  void on_port_change(PortNumber port) override;
  void on_register_again(PortNumber /*port*/) override {}
  void on_link_order(PortNumber port) override;

  void on_time(Instant now);
  Instant next_deadline() const;

 private:
  void forward(PortNumber arrived, std::uint16_t lid, Packet packet);
  void forward_multicast(PortNumber arrived, std::uint16_t lid, const Packet& packet);
  void send(PortNumber port, Packet packet);
  void take(PortNumber arrived, const Packet& packet);
  // Counts and tells of a packet whose partition may not pass there.
  bool passes(Port& port, const Packet& packet, std::uint64_t PortTotals::* refused);
  void tell_bad_partition(const Port& port, const Packet& packet);
  // Whether a packet that came in there may be from the node with this LID.
  bool may_be_from(std::uint16_t source, PortNumber arrived, bool is_management) const;
  bool is_let_in(Port& port, const Packet& packet);
  bool is_let_out(Port& port, const Packet& packet);

  // ---- SubnetInterface::Outlet ----
  void send_through(PortNumber port, const SubnetInterface::Smp& smp) override;
  void send_to(const MadAddress& to, const SubnetInterface::Smp& smp) override;
  void deliver(const MadAddress& from, const SubnetInterface::Smp& smp) override;
  void on_bad_key(const MadAddress& from, const SubnetInterface::Smp& smp) override;

  PacketQueue& queue_;
  const TurnClock& clock_;
  Forwarding tables_;
  std::vector<LinkEnd*> ends_;
  std::vector<bool> may_manage_;
  std::vector<Instant> refused_until_;  // a manager counts as refused
  std::vector<bool> keeps_source_;
  SubnetInterface subnet_;
  PerformanceAgent performance_;
  Notices notices_;
  std::vector<wire::infiniband::PortState> last_states_;
};

}  // namespace paravane::subnet
