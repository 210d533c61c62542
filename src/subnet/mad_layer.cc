#include "subnet/mad_layer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/memory_shortage.h"
#include "wire/infiniband/segments.h"
#include "wire/roce/header_at.h"

namespace paravane::subnet {
namespace {

namespace method = wire::infiniband::method;
using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kMadBytes;
using wire::infiniband::MadHeader;
using wire::infiniband::PerformancePacket;

constexpr std::uint16_t kNoReceiver = wire::infiniband::mad_status::kBadAttribute;
constexpr std::size_t kOuiOffset = 37;  // 36 is reserved (16.5.1)

// REQUIRES: all of it is there.
MadHeader header_of(std::span<const std::byte> mad) {
  return wire::roce::header_at<MadHeader>(mad);
}

std::uint32_t oui_of(std::span<const std::byte> mad) {
  const bool has_one = wire::infiniband::is_vendor_with_oui(header_of(mad).management_class) &&
                       mad.size() >= kOuiOffset + sizeof(Be24);
  return has_one ? wire::roce::header_at<Be24>(mad, kOuiOffset).get() : 0;
}

// As one sends to it.
MadAddress sender_of(const DatagramHeaders& headers) {
  MadAddress sender{.lid = headers.source,
                    .qp = headers.source_qp,
                    .qkey = headers.qkey,
                    .level = headers.service_level};
  if (headers.global) {
    sender.global = *headers.global;
    sender.global->destination = headers.global->source;
    sender.global->source = {};
  }
  return sender;
}

// Whether it is sent in segments: the agent has that done for it, and the MAD asks for it.
bool is_cut(const AgentWish& wish, std::span<const std::byte> mad) {
  constexpr std::size_t kHeaders = wire::infiniband::kClassHeaderAt;
  if (!wish.joins_segments || mad.size() < kHeaders ||
      !wire::infiniband::uses_segments(header_of(mad).management_class))
    return false;
  const auto header = wire::roce::header_at<wire::infiniband::SegmentHeader>(
      mad, wire::infiniband::kSegmentHeaderAt);
  return header.has(wire::infiniband::kSegmentActive) && SegmentSender::can_send(mad);
}

// The same class, the same vendor, and a method in common.
bool collide(const AgentWish& one, const AgentWish& other) {
  const bool same_class = one.management_class == other.management_class &&
                          one.class_version == other.class_version && one.oui == other.oui;
  return same_class &&
         ((one.methods[0] & other.methods[0]) | (one.methods[1] & other.methods[1])) != 0;
}

}  // namespace

MadLayer::MadLayer(Node& node, Port& port, Outlet& outlet, const TurnClock& clock,
                   SegmentRoom* room)
    : port_(port),
      outlet_(outlet),
      clock_(clock),
      subnet_(node, *this),
      performance_(node),
      segments_(*this, {}, room) {}

// ---- Packets ----

void MadLayer::on_subnet_packet(const Datagram& packet) {
  if (packet.payload.size() != kMadBytes) return;
  SubnetInterface::Smp smp;
  std::memcpy(&smp, packet.payload.data(), sizeof smp);
  if (!wire::infiniband::is_subnet_management(smp.header.management_class)) return;
  subnet_.on_arrival(port_.number(), packet.headers, smp);
}

void MadLayer::on_service_packet(const Datagram& packet) {
  if (packet.payload.size() != kMadBytes) return;
  const auto mad = packet.payload.first<kMadBytes>();
  const MadHeader header = header_of(mad);
  if (wire::infiniband::is_subnet_management(header.management_class)) return;
  MadAddress from = sender_of(packet.headers);
  from.partition_index = port_.partition_index(packet.headers.partition);
  from.path_bits = port_.path_bits_of(packet.headers.destination);
  if (PerformanceAgent::answers(header)) {
    const auto answer = performance_.answer(wire::infiniband::part_of<PerformancePacket>(mad, 0));
    transmit(from, std::bit_cast<Mad>(answer));
    return;
  }
  const auto receiver = agents_.find(receiver_of(mad));
  if (wire::infiniband::is_segment(mad) && receiver != agents_.end() &&
      receiver->second.wish.joins_segments) {
    Mad copy;
    std::ranges::copy(mad, copy.begin());
    segments_.on_packet(from, copy, clock_.now, receiver->second.program);
    return;
  }
  dispatch(from, mad);
}

void MadLayer::dispatch(const MadAddress& from, std::span<const std::byte> mad) {
  const MadHeader header = header_of(mad);
  // An answer that nothing waits for is late, or a stranger's: what was asked waits on.
  std::optional<AskedMads::Taken> question;
  if (wire::infiniband::is_response(header.method)) {
    question = asked_.take(header.transaction.get(), header.management_class, from, mad);
    if (!question) return;
  }
  const AgentId agent = receiver_of(mad);
  if (agent == AgentId::kNone) {
    if (header.method == method::kGet || header.method == method::kSet) answer_for_none(from, mad);
    return;
  }
  if (runs_in_memory([&] { agents_.at(agent).agent->on_mad(agent, from, mad); })) return;
  // As if the answer had been lost on its way: it is asked again, or its agent is told.
  if (question) asked_.put_back(std::move(*question));
  throw std::bad_alloc();
}

// 13.4.7: what is not there says so.
void MadLayer::answer_for_none(const MadAddress& from, std::span<const std::byte> mad) {
  if (mad.size() != kMadBytes) return;
  Mad answer;
  std::ranges::copy(mad, answer.begin());
  MadHeader header = header_of(mad);
  header.method = method::kGetResponse;
  const bool is_directed =
      header.management_class == wire::infiniband::management_class::kSubnetByRoute;
  header.status.set(kNoReceiver | (is_directed ? wire::infiniband::kReturning : 0));
  wire::infiniband::put_part(std::span<std::byte, kMadBytes>(answer), 0, header);
  transmit(from, answer);
}

AgentId MadLayer::receiver_of(std::span<const std::byte> mad) const {
  const MadHeader header = header_of(mad);
  if (wire::infiniband::is_response(header.method)) {
    const AgentId asker{static_cast<std::uint32_t>(header.transaction.get() >> 32)};
    return agents_.contains(asker) ? asker : AgentId::kNone;
  }
  const std::uint32_t oui = oui_of(mad);
  for (const auto& [id, registration] : agents_) {
    const AgentWish& wish = registration.wish;
    if (wish.management_class == header.management_class &&
        wish.class_version == header.class_version && wish.oui == oui && wish.wants(header.method))
      return id;
  }
  return AgentId::kNone;
}

void MadLayer::transmit(const MadAddress& to, const Mad& mad) {
  const bool is_subnet = wire::infiniband::is_subnet_management(header_of(mad).management_class);
  if (is_subnet) {
    subnet_.on_departure(port_.number(), to, std::bit_cast<SubnetInterface::Smp>(mad));
    return;
  }
  const std::uint16_t partition = port_.partition(to.partition_index);
  // Its key has been taken from the table since.
  if ((partition & wire::infiniband::kPartitionMask) == 0) {
    ++port_.totals().send_constraints;
    return;
  }
  DatagramHeaders headers{.source = port_.lid_with(to.path_bits),
                          .destination = to.lid,
                          .service_level = to.level,
                          .global = to.global,
                          .partition = partition,
                          .qkey = wire::infiniband::kServiceQkey,
                          .source_qp = wire::infiniband::kServiceQueuePair,
                          .destination_qp = to.qp};
  outlet_.send(headers, mad);
}

// ---- SubnetInterface::Outlet ----

void MadLayer::send_through(PortNumber /*port*/, const SubnetInterface::Smp& smp) {
  const DatagramHeaders headers{.source = wire::infiniband::kPermissiveLid,
                                .destination = wire::infiniband::kPermissiveLid,
                                .lane = wire::infiniband::kManagementLane};
  outlet_.send(headers, std::bit_cast<Mad>(smp));
}

void MadLayer::send_to(const MadAddress& to, const SubnetInterface::Smp& smp) {
  const DatagramHeaders headers{.source = port_.lid_with(to.path_bits),
                                .destination = to.lid,
                                .lane = wire::infiniband::kManagementLane};
  outlet_.send(headers, std::bit_cast<Mad>(smp));
}

void MadLayer::deliver(const MadAddress& from, const SubnetInterface::Smp& smp) {
  const Mad mad = std::bit_cast<Mad>(smp);
  dispatch(from, mad);
}

// ---- Time ----

void MadLayer::on_time(Instant now) {
  segments_.on_time(now);
  for (unsigned i = 0; i < kMostDue; ++i) {
    auto due = asked_.next_due(now);
    if (!due) return;
    if (due->again) {
      Mad mad;
      std::copy_n(due->asked.mad.begin(), mad.size(), mad.begin());
      transmit(due->asked.to, mad);
    } else {
      tell_no_answer(*due);
    }
  }
}

void MadLayer::tell_no_answer(AskedMads::Due& due) {
  const AskedMad& asked = due.asked;
  const auto found = agents_.find(asked.agent);
  if (found == agents_.end()) return;
  if (runs_in_memory([&] { found->second.agent->on_no_answer(asked.agent, asked.to, asked.mad); }))
    return;
  asked_.put_back(std::move(*due.given_up));  // and is told later
  throw std::bad_alloc();
}

// ---- MadPort ----

std::expected<AgentId, AgentRefusal> MadLayer::register_agent(const AgentWish& asked,
                                                              MadAgent& agent) {
  AgentWish wish = asked;
  // libibumad names one for each class.
  if (!wire::infiniband::is_vendor_with_oui(wish.management_class)) wish.oui = 0;
  if (wish.wants_any() && wish.class_version == 0) return std::unexpected(AgentRefusal::kBadWish);
  if (agents_.size() >= kMostAgents) return std::unexpected(AgentRefusal::kNoRoom);
  const bool is_taken = std::ranges::any_of(
      agents_, [&wish](const auto& entry) { return collide(entry.second.wish, wish); });
  if (is_taken) return std::unexpected(AgentRefusal::kTaken);
  while (next_agent_ == 0 || agents_.contains(AgentId{next_agent_})) ++next_agent_;
  const AgentId id{next_agent_++};
  agents_.emplace(id, Registration{.wish = wish, .agent = &agent, .program = program_of(agent)});
  return id;
}

std::uint64_t MadLayer::program_of(const MadAgent& agent) {
  const auto found = std::ranges::find_if(
      agents_, [&agent](const auto& entry) { return entry.second.agent == &agent; });
  return found != agents_.end() ? found->second.program : next_program_++;
}

void MadLayer::unregister(AgentId agent) {
  asked_.forget(agent);
  segments_.forget(std::to_underlying(agent));
  agents_.erase(agent);
}

std::expected<void, SendRefusal> MadLayer::send(AgentId agent, const MadAddress& to,
                                                std::span<const std::byte> mad, Duration timeout,
                                                unsigned retries, Instant now) {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return std::unexpected(SendRefusal::kNoAgent);
  if (mad.size() < sizeof(MadHeader)) return std::unexpected(SendRefusal::kLength);
  MadHeader header = header_of(mad);
  // An agent of either class of subnet management sends both: it is an agent of queue pair 0.
  const bool is_subnet = wire::infiniband::is_subnet_management(header.management_class);
  const std::uint8_t its_class = found->second.wish.management_class;
  if (is_subnet != wire::infiniband::is_subnet_management(its_class) ||
      (!is_subnet && header.management_class != its_class))
    return std::unexpected(SendRefusal::kBadClass);
  const bool is_long = is_cut(found->second.wish, mad);
  if (mad.size() > kMadBytes && !is_long) return std::unexpected(SendRefusal::kLength);
  // A kernel refuses it, too. Subnet management has no key.
  if (!is_subnet && (port_.partition(to.partition_index) & wire::infiniband::kPartitionMask) == 0)
    return std::unexpected(SendRefusal::kNoPartition);
  // It would be kept and sent again for a minute, for nothing.
  if (is_long && !port_.sends_data()) return std::unexpected(SendRefusal::kNotActive);
  // A short one is filled up.
  std::vector<std::byte> copy(mad.begin(), mad.end());
  if (!is_long) copy.resize(kMadBytes);
  bool is_asked = false;
  if (!wire::infiniband::is_response(header.method)) {
    const std::uint64_t transaction =
        (std::uint64_t{std::to_underlying(agent)} << 32) | (header.transaction.get() & 0xFFFF'FFFF);
    header.transaction.set(transaction);
    std::memcpy(copy.data(), &header, sizeof header);
    if (timeout > Duration::zero()) {
      // A long one is sent again by its segments.
      const auto kept = std::span(copy).first(std::min(copy.size(), kMadBytes));
      AskedMad asked{.agent = agent,
                     .to = to,
                     .mad = std::vector<std::byte>(kept.begin(), kept.end()),
                     .timeout = timeout * (is_long ? retries + 1 : 1),
                     .retries = is_long ? 0 : retries};
      if (!asked_.add(transaction, std::move(asked), now))
        return std::unexpected(SendRefusal::kNoRoom);
      is_asked = true;
    }
  }
  bool is_taken = true;
  const bool had_memory = runs_in_memory([&] {
    if (is_long) {
      const std::uint64_t tag = std::to_underlying(agent);
      is_taken =
          segments_.send(to, std::move(copy), tag, {}, now, found->second.program).has_value();
    } else {
      Mad whole;
      std::ranges::copy(copy, whole.begin());
      transmit(to, whole);
    }
  });
  if (had_memory && is_taken) return {};
  // Its sender is told by the refusal alone. An answer has the transaction of a question, which may
  // be another agent's at this port.
  if (is_asked) asked_.take_back(header.transaction.get());
  if (!had_memory) throw std::bad_alloc();
  return std::unexpected(SendRefusal::kNoRoom);
}

void MadLayer::set_manager(bool is_manager) {
  const std::uint32_t before = port_.capabilities();
  if (is_manager)
    ++managers_;
  else if (managers_ > 0)
    --managers_;
  port_.set_manager(managers_ > 0);
  if (port_.capabilities() != before) outlet_.on_manager_change();
}

}  // namespace paravane::subnet
