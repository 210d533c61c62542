#include "testing/subnet_administration.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "wire/infiniband/attribute.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::fake {

namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using wire::infiniband::AdministrationPacket;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::Gid;
using wire::infiniband::MulticastMember;
using wire::infiniband::PathRecord;

namespace {

constexpr std::uint8_t kExactly = 0x80;  // a selector
// Of the LIDs that a switch has, those of groups that are made.
constexpr std::uint16_t kFirstMadeLid = wire::infiniband::kFirstMulticastLid + 0x100;
constexpr std::uint16_t kEndOfMadeLids = wire::infiniband::kFirstMulticastLid + 0x400;
constexpr std::uint64_t kPrefix = 0xFE80'0000'0000'0000;

std::array<std::uint64_t, 2> administration_methods() {
  std::array<std::uint64_t, 2> methods{};
  for (const std::uint8_t one : {method::kGet, method::kSet, method::kDelete})
    methods[one / 64] |= std::uint64_t{1} << (one % 64);
  return methods;
}

constexpr std::uint16_t status_with(AdministrationStatus status) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(status) << 8);
}

std::uint64_t guid_in(const Gid& gid) {
  Be64 guid;
  std::memcpy(&guid, gid.data() + sizeof(Be64), sizeof guid);
  return guid.get();
}

}  // namespace

Gid gid_of_port(std::uint64_t port_guid) {
  const std::array<Be64, 2> words{Be64(kPrefix), Be64(port_guid)};
  Gid gid;
  std::memcpy(gid.data(), words.data(), sizeof gid);
  return gid;
}

SubnetAdministration::SubnetAdministration(subnet::MadPort& mads, SubnetManager& manager,
                                           const TurnClock& clock)
    : mads_(mads), manager_(manager), clock_(clock) {
  const auto made = mads_.register_agent(
      {.management_class = wire::infiniband::management_class::kSubnetAdministration,
       .class_version = wire::infiniband::kAdministrationVersion,
       .methods = administration_methods()},
      *this);
  if (!made) std::abort();
  agent_ = *made;
}

SubnetAdministration::~SubnetAdministration() {
  mads_.unregister(agent_);
}

// ---- Wishes ----

void SubnetAdministration::make_group(std::uint16_t partition, const Group& group) {
  const auto [known, is_new] = groups_.try_emplace(partition);
  if (is_new) known->second.own_lid = next_lid_++;
  known->second.group = group;
  if (group.lid == 0) known->second.group.lid = known->second.own_lid;
}

void SubnetAdministration::forget_members() {
  for (auto& [partition, known] : groups_) known.members.clear();
  made_.clear();
}

void SubnetAdministration::want_registrations() {
  forget_members();
  for (const SubnetManager::Node& node : manager_.nodes()) {
    if (node.is_switch()) continue;
    (void)manager_.change_port(node.path, 0, [](wire::infiniband::PortInfo& info) {
      info.reregister_timeout |= wire::infiniband::kRegisterAgainBit;
    });
  }
}

// ---- Questions ----

void SubnetAdministration::on_mad(subnet::AgentId /*agent*/, const subnet::MadAddress& from,
                                  std::span<const std::byte> mad) {
  Waiting question{.from = from, .packet = {}};
  if (mad.size() != sizeof question.packet) return;
  std::memcpy(&question.packet, mad.data(), sizeof question.packet);
  waiting_.push_back(question);
}

bool SubnetAdministration::serve() {
  if (waiting_.empty()) return false;
  for (; !waiting_.empty(); waiting_.pop_front()) answer(Waiting(waiting_.front()));
  return true;
}

void SubnetAdministration::answer(const Waiting& question) {
  AdministrationPacket packet = question.packet;
  const std::uint16_t what = packet.header.attribute.get();
  const bool is_member = what == attribute::kMulticastMemberRecord;
  Asked asked{
      .method = packet.header.method, .attribute = what, .components = packet.components.get()};
  if (is_member)
    asked.member = wire::infiniband::attribute_of<MulticastMember>(packet);
  else
    asked.path = wire::infiniband::attribute_of<PathRecord>(packet);
  asked_.push_back(asked);

  const Manners& manners = is_member ? to_members_ : to_paths_;
  if (manners.is_silent) return;
  std::uint16_t status = 0;
  if (manners.is_busy)
    status = wire::infiniband::mad_status::kBusy;
  else if (manners.refusal)
    status = status_with(*manners.refusal);
  else
    status = is_member ? take_member(packet) : find_path(packet);
  packet.header.status.set(status);
  packet.header.method = asked.method == method::kDelete
                             ? static_cast<std::uint8_t>(method::kDelete | method::kResponse)
                             : manners.method;
  if (manners.attribute) packet.header.attribute.set(*manners.attribute);
  (void)mads_.send(agent_, question.from, mad_bytes(packet), Duration::zero(), 0, clock_.now);
}

std::uint16_t SubnetAdministration::take_member(AdministrationPacket& packet) {
  auto member = wire::infiniband::attribute_of<MulticastMember>(packet);
  const std::uint16_t partition = member.partition.get();
  if (member.group != wire::infiniband::broadcast_gid(partition))
    return take_member_of_made(packet);
  const auto found = groups_.find(partition);
  if (found == groups_.end()) return status_with(AdministrationStatus::kTooFewComponents);
  const Group& group = found->second.group;
  auto& members = found->second.members;
  const std::uint64_t guid = guid_in(member.port);
  if (packet.header.method == method::kDelete)
    members.erase(guid);
  else
    members.insert(guid);
  if (wire::infiniband::is_multicast_lid(group.lid))
    manager_.make_group(group.lid, std::vector(members.begin(), members.end()));
  if (to_members_.is_of_another) ++member.group.back();
  member.qkey.set(group.qkey);
  member.lid.set(group.lid);
  member.mtu = static_cast<std::uint8_t>(kExactly | static_cast<std::uint8_t>(group.mtu));
  member.rate = static_cast<std::uint8_t>(kExactly | group.rate);
  member.traffic_class = group.traffic_class;
  member.level_flow_hop.set((std::uint32_t{group.level} << 28) | (group.flow_label << 8) |
                            group.hop_limit);
  wire::infiniband::put_attribute(member, packet);
  return 0;
}

std::uint16_t SubnetAdministration::take_member_of_made(AdministrationPacket& packet) {
  namespace component = wire::infiniband::multicast_component;
  auto member = wire::infiniband::attribute_of<MulticastMember>(packet);
  const bool is_full = (member.scope_join & wire::infiniband::kJoinFull) != 0;
  const std::uint64_t guid = guid_in(member.port);
  auto found = made_.find(member.group);
  if (packet.header.method == method::kDelete) {
    if (found == made_.end()) return status_with(AdministrationStatus::kInvalid);
    (is_full ? found->second.members : found->second.senders).erase(guid);
  } else if (found == made_.end()) {
    if (!is_full) return status_with(AdministrationStatus::kInvalid);
    if ((packet.components.get() & component::kMaking) != component::kMaking)
      return status_with(AdministrationStatus::kTooFewComponents);
    std::uint16_t lid = kFirstMadeLid;
    const auto has = [&lid](const auto& one) { return one.second.record.lid.get() == lid; };
    while (std::ranges::any_of(made_, has)) ++lid;
    if (lid == kEndOfMadeLids) return status_with(AdministrationStatus::kNoResources);
    found = made_.emplace(member.group, Made{.record = member}).first;
    found->second.record.lid.set(lid);
  }
  Made& made = found->second;
  if (packet.header.method != method::kDelete) (is_full ? made.members : made.senders).insert(guid);
  const MulticastMember record = made.record;
  manager_.make_group(record.lid.get(), std::vector(made.members.begin(), made.members.end()));
  if (made.members.empty()) made_.erase(found);
  if (to_members_.is_of_another) ++member.group.back();
  member.qkey.set(made_qkey_.value_or(record.qkey.get()));
  member.lid = record.lid;
  member.mtu = record.mtu;
  member.rate = record.rate;
  member.traffic_class = record.traffic_class;
  member.level_flow_hop = record.level_flow_hop;
  wire::infiniband::put_attribute(member, packet);
  return 0;
}

std::optional<Gid> SubnetAdministration::gid_at(std::uint16_t lid) const {
  if (const auto other = others_.find(lid); other != others_.end()) return other->second;
  const auto& nodes = manager_.nodes();
  const auto found = std::ranges::find(nodes, lid, &SubnetManager::Node::lid);
  if (found == nodes.end()) return std::nullopt;
  return gid_of_port(found->info.port_guid.get());
}

std::uint16_t SubnetAdministration::find_path(AdministrationPacket& packet) const {
  auto path = wire::infiniband::attribute_of<PathRecord>(packet);
  const auto gid = gid_at(path.destination_lid.get());
  if (!gid) return status_with(AdministrationStatus::kNoRecords);
  path.destination = *gid;
  path.source_lid.set(
      static_cast<std::uint16_t>(manager_.lid_of(guid_in(path.source)) + path_bits_));
  path.mtu = kExactly | path_mtu_;
  path.class_level.set(path_level_);
  if (to_paths_.is_of_another)
    path.destination_lid.set(static_cast<std::uint16_t>(path.destination_lid.get() + 1));
  wire::infiniband::put_attribute(path, packet);
  return 0;
}

// ---- What is ----

std::size_t SubnetAdministration::asked_for(std::uint8_t a_method, std::uint16_t what) const {
  return static_cast<std::size_t>(std::ranges::count_if(asked_, [=](const Asked& asked) {
    return asked.method == a_method && asked.attribute == what;
  }));
}

bool SubnetAdministration::is_member(std::uint16_t partition, std::uint64_t port_guid) const {
  const auto found = groups_.find(partition);
  return found != groups_.end() && found->second.members.contains(port_guid);
}

bool SubnetAdministration::is_member(const Gid& group, std::uint64_t port_guid) const {
  const auto found = made_.find(group);
  return found != made_.end() && found->second.members.contains(port_guid);
}

bool SubnetAdministration::is_sender(const Gid& group, std::uint64_t port_guid) const {
  const auto found = made_.find(group);
  return found != made_.end() && found->second.senders.contains(port_guid);
}

std::uint16_t SubnetAdministration::lid_of(const Gid& group) const {
  const auto found = made_.find(group);
  return found == made_.end() ? 0 : found->second.record.lid.get();
}

std::uint16_t SubnetAdministration::lid_of(std::uint16_t partition) const {
  const auto found = groups_.find(partition);
  return found == groups_.end() ? 0 : found->second.group.lid;
}

}  // namespace paravane::fake
