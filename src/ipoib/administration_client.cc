#include "ipoib/administration_client.h"

#include <cstring>
#include <utility>

#include "wire/infiniband/attribute.h"
#include "wire/infiniband/subnet_management.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {

namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
namespace multicast_component = wire::infiniband::multicast_component;
namespace path_component = wire::infiniband::path_component;
using wire::infiniband::administration_status;
using wire::infiniband::AdministrationPacket;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::attribute_of;
using wire::infiniband::Gid;
using wire::infiniband::MulticastMember;
using wire::infiniband::PathRecord;
using wire::infiniband::put_attribute;

namespace {

using Cause = AdministrationFailure::Cause;

// What an answer says to a question about this attribute, which is a `Record`.
template <typename Record>
AdministrationClient::Answer<Record> record_of(const AdministrationPacket* answer,
                                               std::uint16_t about) {
  if (answer == nullptr || answer->header.attribute.get() != about)
    return std::unexpected(AdministrationFailure{.cause = Cause::kNoAnswer});
  const std::uint16_t status = answer->header.status.get();
  // It asks for patience (13.4.6.4): the same as no answer.
  if ((status & wire::infiniband::mad_status::kBusy) != 0)
    return std::unexpected(AdministrationFailure{.cause = Cause::kNoAnswer});
  // No subnet administration is at that port any more: its node answers in its place.
  const std::uint16_t general = status & 0x1C;
  if (general == wire::infiniband::mad_status::kBadMethod ||
      general == wire::infiniband::mad_status::kBadAttribute)
    return std::unexpected(AdministrationFailure{.cause = Cause::kNoAnswer});
  if (status != 0)
    return std::unexpected(
        AdministrationFailure{.cause = Cause::kRefused, .status = administration_status(status)});
  return attribute_of<Record>(*answer);
}

}  // namespace

AdministrationClient::AdministrationClient(subnet::HostAdapter& adapter, subnet::PortNumber port,
                                           const TurnClock& clock)
    : adapter_(adapter), port_(port), clock_(clock) {
  is_registered();
}

AdministrationClient::~AdministrationClient() {
  if (agent_ != subnet::AgentId::kNone) adapter_.mads(port_).unregister(agent_);
}

bool AdministrationClient::is_registered() {
  if (agent_ != subnet::AgentId::kNone) return true;
  const auto registered = adapter_.mads(port_).register_agent(
      {.management_class = management_class::kSubnetAdministration,
       .class_version = wire::infiniband::kAdministrationVersion},
      *this);
  if (registered) agent_ = *registered;
  return registered.has_value();
}

Gid AdministrationClient::own_gid() const {
  return adapter_.port(port_)->gid();
}

subnet::MadAddress AdministrationClient::administration() const {
  const subnet::Port& port = *adapter_.port(port_);
  const wire::infiniband::PortInfo& info = port.info();
  // Every port is in the default partition (10.9.1.2), but not always by its first key.
  return {.lid = info.master_lid.get(),
          .qp = wire::infiniband::kServiceQueuePair,
          .qkey = wire::infiniband::kServiceQkey,
          .level = static_cast<std::uint8_t>(info.mtu_master_level & 0x0F),
          .partition_index = port.partition_index(wire::infiniband::kDefaultPartition)};
}

AdministrationPacket AdministrationClient::membership(const Gid& group, std::uint16_t partition,
                                                      bool send_only) const {
  MulticastMember member;
  member.group = group;
  member.port = own_gid();
  member.partition.set(partition);
  member.scope_join = send_only ? wire::infiniband::kJoinSendOnly : wire::infiniband::kJoinFull;
  AdministrationPacket packet;
  packet.header.attribute.set(attribute::kMulticastMemberRecord);
  packet.components.set(multicast_component::kGroup | multicast_component::kPort |
                        multicast_component::kPartition | multicast_component::kJoinState);
  put_attribute(member, packet);
  return packet;
}

std::expected<QuestionId, AdministrationFailure> AdministrationClient::join(const Gid& group,
                                                                            std::uint16_t partition,
                                                                            bool send_only,
                                                                            OnMember on_member) {
  return ask_to_join(membership(group, partition, send_only), std::move(on_member));
}

std::expected<QuestionId, AdministrationFailure> AdministrationClient::join_or_make(
    const Gid& group, const BroadcastGroup& like, OnMember on_member) {
  AdministrationPacket packet = membership(group, full_key_of(like), /*send_only=*/false);
  auto member = attribute_of<MulticastMember>(packet);
  member.qkey.set(like.qkey);
  member.mtu = wire::infiniband::exactly(like.mtu_code);
  member.traffic_class = like.traffic_class;
  member.rate = wire::infiniband::exactly(like.rate_code);
  member.level_flow_hop.set((std::uint32_t{like.level} << 28) | (like.flow_label << 8) |
                            like.hop_limit);
  packet.components.set(packet.components.get() | multicast_component::kMaking);
  put_attribute(member, packet);
  return ask_to_join(packet, std::move(on_member));
}

std::expected<QuestionId, AdministrationFailure> AdministrationClient::ask_to_join(
    AdministrationPacket packet, OnMember on_member) {
  packet.header.method = method::kSet;
  const Gid group = attribute_of<MulticastMember>(packet).group;
  return ask(packet, [group, on_member = std::move(on_member)](const AdministrationPacket* answer) {
    auto member = record_of<MulticastMember>(answer, attribute::kMulticastMemberRecord);
    // Of another group: no answer to the question.
    if (member && member->group != group)
      member = std::unexpected(AdministrationFailure{.cause = Cause::kNoAnswer});
    on_member(member);
  });
}

void AdministrationClient::leave(const Gid& group, std::uint16_t partition, bool send_only) {
  if (!adapter_.port(port_)->is_active() || administration().lid == 0 || !is_registered()) return;
  AdministrationPacket packet = membership(group, partition, send_only);
  packet.header.method = method::kDelete;
  send(packet, next_++, Duration::zero());
}

std::expected<QuestionId, AdministrationFailure> AdministrationClient::find_path(
    const PathWish& wish, OnPath on_path) {
  PathRecord path;
  path.source = own_gid();
  path.reversible_paths = wire::infiniband::kReversible | 1;
  path.destination_lid.set(wish.destination);
  path.partition.set(wish.partition);
  AdministrationPacket packet;
  packet.header.method = method::kGet;
  packet.header.attribute.set(attribute::kPathRecord);
  packet.components.set(path_component::kSource | path_component::kDestinationLid |
                        path_component::kReversible | path_component::kNumberOfPaths |
                        path_component::kPartition);
  put_attribute(path, packet);
  const std::uint16_t lid = wish.destination;
  return ask(packet, [lid, on_path = std::move(on_path)](const AdministrationPacket* answer) {
    auto path_record = record_of<PathRecord>(answer, attribute::kPathRecord);
    if (path_record && path_record->destination_lid.get() != lid)
      path_record = std::unexpected(AdministrationFailure{.cause = Cause::kNoAnswer});
    on_path(path_record);
  });
}

void AdministrationClient::cancel(QuestionId question) {
  open_.erase(static_cast<std::uint32_t>(question));
}

std::expected<QuestionId, AdministrationFailure> AdministrationClient::ask(
    AdministrationPacket question, OnAnswer on_answer) {
  if (!adapter_.port(port_)->is_active() || administration().lid == 0)
    return std::unexpected(AdministrationFailure{.cause = Cause::kNoManager});
  if (open_.size() >= kMostQuestions || !is_registered())
    return std::unexpected(AdministrationFailure{.cause = Cause::kNoRoom});
  while (next_ == 0 || open_.contains(next_)) ++next_;
  const std::uint32_t transaction = next_++;
  // An answer comes later. Without memory for one of both, nothing is open.
  if (!send(question, transaction, kTimeout))
    return std::unexpected(AdministrationFailure{.cause = Cause::kNoRoom});
  open_.emplace(transaction, std::move(on_answer));
  return QuestionId{transaction};
}

bool AdministrationClient::send(AdministrationPacket& packet, std::uint32_t transaction,
                                Duration timeout) {
  packet.header.management_class = management_class::kSubnetAdministration;
  packet.header.class_version = wire::infiniband::kAdministrationVersion;
  packet.header.transaction.set(transaction);
  // A request is no segment.
  packet.segment.version = 0;
  packet.segment.type = {};
  const auto bytes = std::as_bytes(std::span(&packet, 1));
  const unsigned retries = timeout == Duration::zero() ? 0 : kRetries;
  return adapter_.mads(port_)
      .send(agent_, administration(), bytes, timeout, retries, clock_.now)
      .has_value();
}

void AdministrationClient::on_mad(subnet::AgentId /*agent*/, const subnet::MadAddress& /*from*/,
                                  std::span<const std::byte> mad) {
  AdministrationPacket packet;
  if (mad.size() != sizeof packet) return;
  std::memcpy(&packet, mad.data(), sizeof packet);
  // That of a Set has the same method; a table is not asked for. The MAD layer sees to it that it
  // comes from where administration was asked. What is no answer ends the question, too: the MAD
  // layer waits no longer.
  const bool is_answer = packet.header.method == method::kGetResponse;
  close(packet.header, is_answer ? &packet : nullptr);
}

void AdministrationClient::on_no_answer(subnet::AgentId /*agent*/, const subnet::MadAddress& /*to*/,
                                        std::span<const std::byte> mad) {
  close(wire::roce::header_at<wire::infiniband::MadHeader>(mad), nullptr);
}

void AdministrationClient::close(const wire::infiniband::MadHeader& header,
                                 const AdministrationPacket* answer) {
  const auto found = open_.find(static_cast<std::uint32_t>(header.transaction.get()));
  if (found == open_.end()) return;
  const OnAnswer on_answer = std::move(found->second);
  open_.erase(found);
  on_answer(answer);
}

}  // namespace paravane::ipoib
