#include "subnet/directed_route.h"

#include "wire/infiniband/local_route.h"

namespace paravane::subnet {
namespace {

using wire::infiniband::kMostHops;
using wire::infiniband::kPermissiveLid;
using wire::infiniband::kReturning;
using wire::infiniband::SubnetManagementPacket;
using Kind = RouteStep::Kind;

std::uint8_t hop_pointer(const SubnetManagementPacket& smp) {
  return static_cast<std::uint8_t>(smp.header.class_specific.get() >> 8);
}
std::uint8_t hop_count(const SubnetManagementPacket& smp) {
  return static_cast<std::uint8_t>(smp.header.class_specific.get());
}
void set_hop_pointer(SubnetManagementPacket& smp, std::uint8_t pointer) {
  smp.header.class_specific.set(static_cast<std::uint16_t>((pointer << 8) | hop_count(smp)));
}

RouteStep forward(std::uint8_t port, std::uint8_t ports) {
  if (port == 0 || port > ports) return {};
  return {.kind = Kind::kForward, .port = port};
}

RouteStep outbound(SubnetManagementPacket& smp, std::uint8_t arrived, bool is_switch,
                   std::uint8_t ports) {
  const std::uint8_t pointer = hop_pointer(smp);
  const std::uint8_t count = hop_count(smp);
  // The directed part begins here, after one by LID.
  if (pointer == 0 && count > 0) {
    if (!is_switch) return {};
    set_hop_pointer(smp, 1);
    return forward(smp.initial_path[1], ports);
  }
  if (pointer < count) {
    if (!is_switch) return {};
    smp.return_path[pointer] = arrived;
    set_hop_pointer(smp, pointer + 1);
    return forward(smp.initial_path[pointer + 1], ports);
  }
  if (pointer == count) {
    if (count > 0) smp.return_path[pointer] = arrived;
    set_hop_pointer(smp, pointer + 1);
    const std::uint16_t lid = smp.destination.get();
    if (lid == kPermissiveLid) return {.kind = Kind::kAnswer};
    return is_switch ? RouteStep{.kind = Kind::kByLid, .lid = lid} : RouteStep{};
  }
  // A part by LID has followed the directed one.
  return pointer == count + 1 ? RouteStep{.kind = Kind::kAnswer} : RouteStep{};
}

RouteStep inbound(SubnetManagementPacket& smp, std::uint8_t arrived, bool is_switch,
                  std::uint8_t ports) {
  const std::uint8_t pointer = hop_pointer(smp);
  const std::uint8_t count = hop_count(smp);
  // The directed part of the way back begins here, after one by LID.
  if (count > 0 && pointer == count + 1) {
    if (!is_switch || smp.destination.get() == kPermissiveLid) return {};
    set_hop_pointer(smp, count);
    return forward(smp.return_path[count], ports);
  }
  // An answer comes back through the port by which its request has left. Without this, any node
  // could answer for any other: the whole route is the sender's to write.
  if (pointer >= 1 && pointer <= count && smp.initial_path[pointer] != arrived) return {};
  if (pointer >= 2 && pointer <= count) {
    if (!is_switch) return {};
    set_hop_pointer(smp, pointer - 1);
    return forward(smp.return_path[pointer - 1], ports);
  }
  if (pointer == 1 && count > 0) {
    set_hop_pointer(smp, 0);
    const std::uint16_t lid = smp.source.get();
    if (lid == kPermissiveLid) return {.kind = Kind::kDeliver};
    return is_switch ? RouteStep{.kind = Kind::kByLid, .lid = lid} : RouteStep{};
  }
  // A part by LID has followed the directed one.
  const bool came_by_lid = pointer == 0 && smp.source.get() != kPermissiveLid;
  return came_by_lid ? RouteStep{.kind = Kind::kDeliver} : RouteStep{};
}

}  // namespace

bool is_returning(const SubnetManagementPacket& smp) {
  return (smp.header.status.get() & kReturning) != 0;
}

RouteStep on_arrival(SubnetManagementPacket& smp, std::uint8_t arrived, bool is_switch,
                     std::uint8_t ports) {
  if (hop_count(smp) > kMostHops) return {};
  return is_returning(smp) ? inbound(smp, arrived, is_switch, ports)
                           : outbound(smp, arrived, is_switch, ports);
}

RouteStep on_departure(SubnetManagementPacket& smp, std::uint8_t ports) {
  const std::uint8_t count = hop_count(smp);
  if (count > kMostHops) return {};
  if (is_returning(smp)) return on_answer(smp);
  if (hop_pointer(smp) != 0) return {};
  // The part by LID comes first.
  if (smp.source.get() != kPermissiveLid) return {.kind = Kind::kByLid};
  set_hop_pointer(smp, 1);
  if (count > 0) return forward(smp.initial_path[1], ports);
  const std::uint16_t after = smp.destination.get();
  if (after == kPermissiveLid) return {.kind = Kind::kAnswer};
  return {.kind = Kind::kByLid, .lid = after};
}

RouteStep on_answer(SubnetManagementPacket& smp) {
  smp.header.status.set(smp.header.status.get() | kReturning);
  const std::uint8_t count = hop_count(smp);
  // The part by LID, which was the request's last, is the answer's first.
  if (smp.destination.get() != kPermissiveLid) return {.kind = Kind::kByLid};
  if (count == 0) {
    set_hop_pointer(smp, 0);
    const std::uint16_t back = smp.source.get();
    if (back == kPermissiveLid) return {.kind = Kind::kDeliver};
    return {.kind = Kind::kByLid, .lid = back};
  }
  if (count > kMostHops) return {};
  const std::uint8_t port = smp.return_path[count];
  set_hop_pointer(smp, count);
  return {.kind = Kind::kForward, .port = port};
}

}  // namespace paravane::subnet
