#include "subnet/subnet_agent.h"

#include <algorithm>

#include "wire/infiniband/attribute.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace mad_status = wire::infiniband::mad_status;
namespace method = wire::infiniband::method;
using wire::infiniband::attribute_of;
using wire::infiniband::NodeInfo;
using wire::infiniband::PortInfo;
using wire::infiniband::put_attribute;
using wire::infiniband::SubnetManagementPacket;
using wire::infiniband::SwitchInfo;

// A manufacturer's number of ours, locally administered: no manufacturer's.
constexpr std::uint32_t kVendor = 0x025056;
constexpr std::size_t kMostDescription = 63;

bool is_set(const SubnetManagementPacket& smp) {
  return smp.header.method == method::kSet;
}

}  // namespace

bool SubnetAgent::answers(const SubnetManagementPacket& smp) {
  return (smp.header.method == method::kGet || smp.header.method == method::kSet) &&
         smp.header.attribute.get() != attribute::kSmInfo;
}

std::optional<SubnetManagementPacket> SubnetAgent::answer(const Smp& request, PortNumber arrived) {
  Port& guarded = node_.guarded_by(arrived);
  const Guard own = this->guard(request, guarded);
  if (own == Guard::kRefuses)
    guarded.heard_wrong_key();
  else if (request.management_key.get() == guarded.info().management_key.get())
    guarded.heard_right_key();
  const Guard guard = std::max(own, guard_of_other(request, arrived));
  if (guard == Guard::kRefuses) {
    guarded.count_key_violation();
    return std::nullopt;
  }
  Smp answer = request;
  answer.header.method = method::kGetResponse;
  answer.header.status.set(0);
  const std::uint16_t status = carry_out(request, arrived, answer);
  answer.header.status.set(status);
  if (guard == Guard::kHidesKey && request.header.attribute.get() == attribute::kPortInfo) {
    auto info = attribute_of<PortInfo>(answer);
    info.management_key.set(0);
    put_attribute(info, answer);
  }
  return answer;
}

// 14.2.4.1: a request with the key may do all; others may read as far as the protection bits say.
SubnetAgent::Guard SubnetAgent::guard(const Smp& request, const Port& port) const {
  const std::uint64_t key = port.info().management_key.get();
  if (key == 0 || request.management_key.get() == key) return Guard::kOpen;
  if (is_set(request)) return Guard::kRefuses;
  const unsigned protection = port.info().protection_lmc >> 6;
  if (protection >= 2) return Guard::kRefuses;
  return protection == 1 ? Guard::kHidesKey : Guard::kOpen;
}

// Ports of an adapter may be in subnets of different managers.
SubnetAgent::Guard SubnetAgent::guard_of_other(const Smp& request, PortNumber arrived) const {
  if (node_.is_switch() || request.header.attribute.get() != attribute::kPortInfo)
    return Guard::kOpen;
  const Port* port = named_port(request.header.modifier.get() & 0xFF, arrived);
  return port == nullptr ? Guard::kOpen : guard(request, *port);
}

std::uint16_t SubnetAgent::carry_out(const Smp& request, PortNumber arrived, Smp& answer) {
  if (request.header.base_version != 1 || request.header.class_version != 1)
    return mad_status::kBadVersion;
  switch (request.header.attribute.get()) {
    case attribute::kNodeDescription: return node_description(request, answer);
    case attribute::kNodeInfo: return node_info(request, arrived, answer);
    case attribute::kSwitchInfo: return switch_info(request, answer);
    case attribute::kGuidInfo: return guid_info(request, arrived, answer);
    case attribute::kPortInfo: return port_info(request, arrived, answer);
    case attribute::kPartitionTable: return partition_table(request, arrived, answer);
    case attribute::kLaneTable: return lane_table(request, answer);
    case attribute::kLaneArbitration: return lane_arbitration(request, answer);
    case attribute::kLinearTable: return linear_table(request, answer);
    case attribute::kMulticastTable: return multicast_table(request, answer);
    default: return mad_status::kBadAttribute;
  }
}

std::uint16_t SubnetAgent::node_description(const Smp& request, Smp& answer) const {
  if (is_set(request)) return mad_status::kBadAttribute;
  const std::string& text = node_.identity().description;
  std::array<char, sizeof answer.data> out{};
  std::copy_n(text.begin(), std::min(text.size(), kMostDescription), out.begin());
  put_attribute(out, answer);
  return 0;
}

std::uint16_t SubnetAgent::node_info(const Smp& request, PortNumber arrived, Smp& answer) const {
  if (is_set(request)) return mad_status::kBadAttribute;
  const NodeIdentity& identity = node_.identity();
  NodeInfo info;
  info.type = identity.type;
  info.ports = node_.ports();
  info.system_guid.set(identity.system_guid);
  info.node_guid.set(identity.guid);
  const Port& own = *node_.port(node_.is_switch() ? 0 : arrived);
  info.port_guid.set(own.guid());
  info.partitions.set(own.abilities().partitions);
  info.device.set(identity.device_id);
  info.revision.set(identity.revision);
  info.local_port = arrived;
  info.vendor.set(kVendor);
  put_attribute(info, answer);
  return 0;
}

std::uint16_t SubnetAgent::switch_info(const Smp& request, Smp& answer) {
  Forwarding* tables = node_.forwarding();
  if (tables == nullptr) return mad_status::kBadAttribute;
  if (is_set(request) && !tables->set_info(attribute_of<SwitchInfo>(request)))
    return mad_status::kBadField;
  put_attribute(tables->info(), answer);
  return 0;
}

std::uint16_t SubnetAgent::guid_info(const Smp& request, PortNumber arrived, Smp& answer) const {
  if (is_set(request)) return mad_status::kBadAttribute;
  if (request.header.modifier.get() != 0) return mad_status::kBadField;
  wire::infiniband::GuidBlock guids;
  guids[0].set(node_.port(node_.is_switch() ? 0 : arrived)->guid());
  put_attribute(guids, answer);
  return 0;
}

Port* SubnetAgent::named_port(std::uint32_t number, PortNumber arrived) const {
  if (number == 0 && !node_.is_switch()) number = arrived;
  return number <= node_.ports() ? node_.port(static_cast<PortNumber>(number)) : nullptr;
}

std::uint16_t SubnetAgent::port_info(const Smp& request, PortNumber arrived, Smp& answer) {
  Port* port = named_port(request.header.modifier.get() & 0xFF, arrived);
  if (port == nullptr) return mad_status::kBadField;
  std::uint16_t status = 0;
  // An adapter's port is set through itself alone (14.2.5.6).
  if (is_set(request) && !node_.is_switch() && port->number() != arrived)
    return mad_status::kBadField;
  if (is_set(request)) status = port->set_info(attribute_of<PortInfo>(request));
  PortInfo info = port->info();
  info.local_port = arrived;
  put_attribute(info, answer);
  return status;
}

std::uint16_t SubnetAgent::partition_table(const Smp& request, PortNumber arrived, Smp& answer) {
  const std::uint32_t modifier = request.header.modifier.get();
  Port* port = named_port(node_.is_switch() ? modifier >> 16 : 0, arrived);
  if (port == nullptr) return mad_status::kBadField;
  const std::size_t block = modifier & 0xFFFF;
  wire::infiniband::PartitionBlock keys;
  if (is_set(request) &&
      !port->set_partitions(block, attribute_of<wire::infiniband::PartitionBlock>(request)))
    return mad_status::kBadField;
  if (!port->read_partitions(block, keys)) return mad_status::kBadField;
  put_attribute(keys, answer);
  return 0;
}

// There is one lane of data: every service level is on it.
std::uint16_t SubnetAgent::lane_table(const Smp& request, Smp& answer) const {
  const wire::infiniband::LaneTable all_on_first{};
  if (is_set(request) && attribute_of<wire::infiniband::LaneTable>(request) != all_on_first)
    return mad_status::kBadField;
  put_attribute(all_on_first, answer);
  return 0;
}

std::uint16_t SubnetAgent::lane_arbitration(const Smp& request, Smp& answer) const {
  if (is_set(request)) return mad_status::kBadField;
  put_attribute(wire::infiniband::ArbitrationBlock{}, answer);
  return 0;
}

std::uint16_t SubnetAgent::linear_table(const Smp& request, Smp& answer) {
  Forwarding* tables = node_.forwarding();
  if (tables == nullptr) return mad_status::kBadAttribute;
  const std::size_t block = request.header.modifier.get();
  wire::infiniband::LinearBlock entries;
  if (is_set(request) &&
      !tables->set_linear(block, attribute_of<wire::infiniband::LinearBlock>(request)))
    return mad_status::kBadField;
  if (!tables->read_linear(block, entries)) return mad_status::kBadField;
  put_attribute(entries, answer);
  return 0;
}

std::uint16_t SubnetAgent::multicast_table(const Smp& request, Smp& answer) {
  Forwarding* tables = node_.forwarding();
  if (tables == nullptr) return mad_status::kBadAttribute;
  const std::uint32_t modifier = request.header.modifier.get();
  const std::size_t block = modifier & 0x01FF;
  const std::size_t position = modifier >> 28;
  wire::infiniband::MulticastBlock masks;
  if (is_set(request) &&
      !tables->set_multicast(block, position,
                             attribute_of<wire::infiniband::MulticastBlock>(request)))
    return mad_status::kBadField;
  if (!tables->read_multicast(block, position, masks)) return mad_status::kBadField;
  put_attribute(masks, answer);
  return 0;
}

}  // namespace paravane::subnet
