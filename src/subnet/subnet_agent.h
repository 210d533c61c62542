// SubnetAgent: the subnet management agent of a node. It answers Get and Set of the node's
// attributes (IBTA volume 1, 14.2.5) and guards them with the management key (14.2.4).
//
// Requests come from whatever can send packets in the subnet: each is judged alone, and the
// answer says what is wrong. The subnet's thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "subnet/node.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

class SubnetAgent {
 public:
  // `node` outlives us.
  explicit SubnetAgent(Node& node) : node_(node) {}

  // Whether a request is the agent's to answer; others are for a subnet manager of the node.
  static bool answers(const wire::infiniband::SubnetManagementPacket& smp);

  // The answer to a request that came through port `arrived` (0: from a switch's own side), on its
  // way back. nullopt: none is due, as the key was wrong.
  std::optional<wire::infiniband::SubnetManagementPacket> answer(
      const wire::infiniband::SubnetManagementPacket& request, PortNumber arrived);

 private:
  using Smp = wire::infiniband::SubnetManagementPacket;

  // Each fills `answer.data` and returns a status (wire::infiniband::mad_status).
  std::uint16_t carry_out(const Smp& request, PortNumber arrived, Smp& answer);
  std::uint16_t node_description(const Smp& request, Smp& answer) const;
  std::uint16_t node_info(const Smp& request, PortNumber arrived, Smp& answer) const;
  std::uint16_t switch_info(const Smp& request, Smp& answer);
  std::uint16_t guid_info(const Smp& request, PortNumber arrived, Smp& answer) const;
  std::uint16_t port_info(const Smp& request, PortNumber arrived, Smp& answer);
  std::uint16_t partition_table(const Smp& request, PortNumber arrived, Smp& answer);
  std::uint16_t lane_table(const Smp& request, Smp& answer) const;
  std::uint16_t lane_arbitration(const Smp& request, Smp& answer) const;
  std::uint16_t linear_table(const Smp& request, Smp& answer);
  std::uint16_t multicast_table(const Smp& request, Smp& answer);

  enum class Guard : std::uint8_t { kOpen, kHidesKey, kRefuses };  // the stricter, the greater
  Guard guard(const Smp& request, const Port& port) const;
  // Of an adapter's port that is asked about through another one.
  Guard guard_of_other(const Smp& request, PortNumber arrived) const;
  // The port that a modifier names; 0 in an adapter: that through which the request came.
  Port* named_port(std::uint32_t number, PortNumber arrived) const;

  Node& node_;
};

}  // namespace paravane::subnet
