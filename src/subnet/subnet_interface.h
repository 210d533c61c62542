// SubnetInterface: queue pair 0 of a node (the SMI of IBTA volume 1, 14.2.2). It brings an SMP to
// its place: out of a port, to the node's agent, or to a subnet manager that runs at the node.
//
// The subnet's thread only.

#pragma once

#include "subnet/mad_address.h"
#include "subnet/node.h"
#include "subnet/subnet_agent.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

class SubnetInterface {
 public:
  using Smp = wire::infiniband::SubnetManagementPacket;

  // The node's part; none of it may call us back within the call.
  class Outlet {
   public:
    virtual ~Outlet() = default;
    // Out of a port, on a directed route.
    virtual void send_through(PortNumber port, const Smp& smp) = 0;
    // To a LID, from that of the node's which `to` says.
    virtual void send_to(const MadAddress& to, const Smp& smp) = 0;
    // For a program at this node: an answer, or a request that no agent answers.
    virtual void deliver(const MadAddress& from, const Smp& smp) = 0;
    // The management key of a request was wrong.
    virtual void on_bad_key(const MadAddress& from, const Smp& smp) = 0;
  };

  SubnetInterface(Node& node, Outlet& outlet) : node_(node), agent_(node), outlet_(outlet) {}

  // From a link, or by a loop from the node itself. What cannot be brought anywhere is counted at
  // the port, as VL15Dropped. REQUIRES: a port of the node, also below.
  void on_arrival(PortNumber arrived, const wire::infiniband::DatagramHeaders& headers, Smp smp);
  // From a program at port `from`, to the LID of `to` unless the route is directed.
  void on_departure(PortNumber from, const MadAddress& to, Smp smp);

  const SubnetAgent& agent() const { return agent_; }

 private:
  // An SMP that came through this port cannot be brought anywhere.
  void drop(PortNumber port) { ++node_.port(port)->totals().management_dropped; }
  // Answers, or delivers, a request that has arrived at its responder.
  void answer(PortNumber arrived, const MadAddress& from, const Smp& request);

  Node& node_;
  SubnetAgent agent_;
  Outlet& outlet_;
};

}  // namespace paravane::subnet
