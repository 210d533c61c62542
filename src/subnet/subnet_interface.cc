#include "subnet/subnet_interface.h"

#include "subnet/directed_route.h"

namespace paravane::subnet {
namespace {

using wire::infiniband::DatagramHeaders;
using wire::infiniband::SubnetManagementPacket;
using Kind = RouteStep::Kind;

bool is_directed(const SubnetManagementPacket& smp) {
  return smp.header.management_class == wire::infiniband::management_class::kSubnetByRoute;
}

}  // namespace

void SubnetInterface::on_arrival(PortNumber arrived, const DatagramHeaders& headers, Smp smp) {
  const MadAddress from{.lid = headers.source,
                        .level = headers.service_level,
                        .path_bits = node_.port(arrived)->path_bits_of(headers.destination)};
  if (!is_directed(smp)) {
    answer(arrived, from, smp);
    return;
  }
  const RouteStep step = subnet::on_arrival(smp, arrived, node_.is_switch(), node_.ports());
  switch (step.kind) {
    case Kind::kDrop: drop(arrived); break;
    case Kind::kForward: outlet_.send_through(step.port, smp); break;
    case Kind::kByLid: outlet_.send_to({.lid = step.lid}, smp); break;
    case Kind::kAnswer: answer(arrived, from, smp); break;
    case Kind::kDeliver: outlet_.deliver(from, smp); break;
  }
}

void SubnetInterface::on_departure(PortNumber from, const MadAddress& to, Smp smp) {
  if (!is_directed(smp)) {
    outlet_.send_to(to, smp);
    return;
  }
  const MadAddress here{.lid = wire::infiniband::kPermissiveLid};
  const RouteStep step = subnet::on_departure(smp, node_.ports());
  switch (step.kind) {
    case Kind::kDrop: drop(from); break;
    case Kind::kForward:
      // An adapter's port sends through itself alone.
      if (step.port == from)
        outlet_.send_through(step.port, smp);
      else
        drop(from);
      break;
    case Kind::kByLid: outlet_.send_to({.lid = step.lid != 0 ? step.lid : to.lid}, smp); break;
    case Kind::kAnswer: answer(from, here, smp); break;
    case Kind::kDeliver: outlet_.deliver(here, smp); break;
  }
}

void SubnetInterface::answer(PortNumber arrived, const MadAddress& from, const Smp& request) {
  if (!SubnetAgent::answers(request)) {
    outlet_.deliver(from, request);
    return;
  }
  auto answer = agent_.answer(request, arrived);
  if (!answer) {
    outlet_.on_bad_key(from, request);
    return;
  }
  if (!is_directed(*answer)) {
    // From the LID that was asked (13.5.4).
    outlet_.send_to(from, *answer);
    return;
  }
  const RouteStep step = on_answer(*answer);
  switch (step.kind) {
    case Kind::kForward:
      if (step.port != 0 && step.port <= node_.ports())
        outlet_.send_through(step.port, *answer);
      else
        drop(arrived);
      break;
    case Kind::kByLid:
      outlet_.send_to({.lid = step.lid != 0 ? step.lid : from.lid}, *answer);
      break;
    case Kind::kDeliver: outlet_.deliver(from, *answer); break;
    case Kind::kAnswer:
    case Kind::kDrop: drop(arrived); break;
  }
}

}  // namespace paravane::subnet
