#include "subnet/subnet_switch.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "wire/infiniband/datagram.h"
#include "wire/infiniband/local_route.h"
#include "wire/roce/header_at.h"
#include "wire/roce/headers.h"

namespace paravane::subnet {
namespace {

namespace capability = wire::infiniband::capability;
namespace method = wire::infiniband::method;
namespace trap = wire::infiniband::trap;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kMadBytes;
using wire::infiniband::kManagementLane;
using wire::infiniband::LocalRouteHeader;
using wire::infiniband::MadHeader;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PortState;
using wire::infiniband::SubnetManagementPacket;
using wire::roce::header_at;

constexpr std::uint32_t kOwnCapabilities =
    capability::kTraps | capability::kLaneTable | capability::kSystemGuid;
constexpr std::uint16_t kPartitionsOfPort = 32;

// The partition of a packet of data; nullopt: it ends before it, or is raw.
std::optional<std::uint16_t> partition_of(const Packet& packet) {
  const auto route = header_at<LocalRouteHeader>(packet);
  std::size_t at = sizeof route;
  if (route.next() == wire::infiniband::NextHeader::kGlobalRoute)
    at += wire::infiniband::kGlobalRouteBytes;
  else if (route.next() != wire::infiniband::NextHeader::kTransport)
    return std::nullopt;
  if (packet.size() < at + sizeof(wire::roce::BaseHeader)) return std::nullopt;
  return header_at<wire::roce::BaseHeader>(packet, at).pkey.get();
}

// Whether an SMP changes something, silences a notice, or tells which manager is the master. To ask
// for that changes nothing.
bool manages(const Packet& packet) {
  const auto read = wire::infiniband::read_datagram(packet);
  if (!read || read->payload.size() != kMadBytes) return false;
  const auto header = header_at<MadHeader>(read->payload);
  return header.method == method::kSet || header.method == method::kTrapRepress ||
         (header.attribute.get() == wire::infiniband::attribute::kSmInfo &&
          header.method != method::kGet);
}

}  // namespace

SubnetSwitch::SubnetSwitch(std::uint64_t guid, std::string description, PortNumber ports,
                           PacketQueue& queue, const TurnClock& clock)
    : Node({.type = wire::infiniband::NodeType::kSwitch,
            .guid = guid,
            .system_guid = guid,
            .description = std::move(description)}),
      queue_(queue),
      clock_(clock),
      tables_(ports),
      ends_(ports + 1U),
      may_manage_(ports + 1U, true),
      refused_until_(ports + 1U, Instant::min()),
      keeps_source_(ports + 1U),
      subnet_(*this, *this),
      performance_(*this),
      last_states_(ports + 1U, PortState::kDown) {
  const PortAbilities own{
      .partitions = kPartitionsOfPort, .capabilities = kOwnCapabilities, .guid = guid};
  ports_.push_back(std::make_unique<Port>(PortNumber{0}, own, *this));
  for (unsigned number = 1; number <= ports; ++number) {
    const PortAbilities outer{.partitions = kPartitionsOfPort, .has_lid = false};
    ports_.push_back(std::make_unique<Port>(static_cast<PortNumber>(number), outer, *this));
  }
  ports_[0]->link_up(Speed::kQuad);
}

SubnetSwitch::~SubnetSwitch() {
  queue_.forget(*this);
}

void SubnetSwitch::detach(PortNumber port) {
  ends_[port] = nullptr;
  may_manage_[port] = true;
  refused_until_[port] = Instant::min();
  keeps_source_[port] = false;
  ports_[port]->link_down();
}

void SubnetSwitch::refuse_management(PortNumber port) {
  ++ports_[port]->totals().management_dropped;
  refused_until_[port] = clock_.now + kRefusalCounts;
}

bool SubnetSwitch::refuses_manager(PortNumber port) const {
  return !may_manage_[port] && clock_.now < refused_until_[port];
}

// ---- From one engine to the next ----

SwitchImage SubnetSwitch::image() const {
  SwitchImage image{
      .guid = identity().guid, .tables = tables_.image(), .notices = notices_.image()};
  for (const auto& port : ports_) image.ports.push_back(port->image(clock_.now));
  return image;
}

bool SubnetSwitch::can_be(const SwitchImage& image) const {
  if (image.guid != identity().guid || image.ports.size() != ports_.size() ||
      !tables_.can_be(image.tables))
    return false;
  return std::ranges::all_of(
      ports_, [&image](const auto& port) { return port->can_be(image.ports[port->number()]); });
}

void SubnetSwitch::adopt(const SwitchImage& image, const PortMask& keeps) {
  tables_.adopt(image.tables);
  notices_.adopt(image.notices, clock_.now);
  ports_[0]->adopt(image.ports[0], clock_.now);
  for (unsigned number = 1; number <= ports(); ++number) {
    const PortImage& image_of_it = image.ports[number];
    const auto port = static_cast<PortNumber>(number);
    if (has_port(keeps, port)) ports_[number]->adopt(image_of_it, clock_.now);
    last_states_[number] = static_cast<PortState>(image_of_it.info.speed_supported_state & 0x0F);
    on_port_change(port);
  }
}

// ---- Packets ----

void SubnetSwitch::on_packet(PortNumber arrived, Packet packet) {
  Port& port = *ports_[arrived];
  PortTotals& totals = port.totals();
  // It was on its way when its link was detached, and with it what the link may do.
  if (!is_attached(arrived)) {
    ++totals.receive_errors;
    return;
  }
  totals.received_bytes += packet.size();
  if (packet.size() < wire::infiniband::kLeastDatagramBytes ||
      packet.size() > wire::infiniband::kMostPacketBytes) {
    ++totals.receive_errors;
    return;
  }
  const auto route = header_at<LocalRouteHeader>(packet);
  const std::uint16_t lid = route.destination.get();
  const bool is_multicast = wire::infiniband::is_multicast_lid(lid);
  ++(is_multicast ? totals.received_multicast : totals.received_unicast);
  const bool is_management = route.lane() == kManagementLane;
  if (!may_be_from(route.source.get(), arrived, is_management)) {
    ++totals.receive_errors;
    return;
  }
  // Management of the subnet is for one node.
  if (is_management && is_multicast) {
    ++totals.management_dropped;
    return;
  }
  if (is_management && !may_manage_[arrived] && manages(packet)) return refuse_management(arrived);
  if (!is_management) {
    port.heard_data();
    if (!port.receives_data()) {
      ++totals.receive_errors;
      return;
    }
    if (!is_let_in(port, packet)) return;
  }
  packet.entered = &port;
  if (is_multicast) {
    forward_multicast(arrived, lid, packet);
  } else if (lid == wire::infiniband::kPermissiveLid || ports_[0]->has_lid(lid)) {
    take(arrived, packet);
  } else {
    forward(arrived, lid, std::move(packet));
  }
}

// A node without a LID yet, or on a directed route, has management alone to send.
bool SubnetSwitch::may_be_from(std::uint16_t source, PortNumber arrived, bool is_management) const {
  if (source == 0 || source == wire::infiniband::kPermissiveLid) return is_management;
  if (wire::infiniband::is_multicast_lid(source) || ports_[0]->has_lid(source)) return false;
  const PortNumber way = tables_.way_to(source);
  return way == arrived || way == wire::infiniband::kNoPort || !keeps_source_[way];
}

bool SubnetSwitch::is_let_in(Port& port, const Packet& packet) {
  return !port.enforces_in() || passes(port, packet, &PortTotals::receive_constraints);
}

// A switch's port has the keys of the node behind it (opensm writes both alike), of which one of a
// limited member is that of the packets which the node sends. So the partition alone is compared;
// that two limited members do not speak to each other is for the queue pair that receives.
bool SubnetSwitch::passes(Port& port, const Packet& packet, std::uint64_t PortTotals::* refused) {
  const auto partition = partition_of(packet);
  if (partition && port.is_in_partition(*partition)) return true;
  ++(port.totals().*refused);
  tell_bad_partition(port, packet);
  return false;
}

// Of a datagram alone: of what else there is, no field is known to be one.
void SubnetSwitch::tell_bad_partition(const Port& port, const Packet& packet) {
  const auto read = wire::infiniband::read_datagram(packet);
  if (!read) return;
  const DatagramHeaders& headers = read->headers;
  wire::infiniband::BadPartitionAtSwitch details;
  details.valid.set(wire::infiniband::kValidWithoutGlobal);
  details.source.set(headers.source);
  details.destination.set(headers.destination);
  details.key.set(headers.partition);
  details.level = static_cast<std::uint8_t>(headers.service_level << 4);
  details.source_qp.set(headers.source_qp);
  details.destination_qp.set(headers.destination_qp);
  if (headers.global) {
    details.valid.set(wire::infiniband::kValidWithoutGlobal | wire::infiniband::kValidGids);
    details.source_gid = headers.global->source;
    details.destination_gid = headers.global->destination;
  }
  details.switch_lid.set(ports_[0]->lid());
  details.port = port.number();
  notices_.tell(notice_of(trap::kBadPartitionAtSwitch, wire::infiniband::NoticeType::kSecurity,
                          wire::infiniband::NodeType::kSwitch, details),
                clock_.now);
}

bool SubnetSwitch::is_let_out(Port& port, const Packet& packet) {
  if (header_at<LocalRouteHeader>(packet).lane() == kManagementLane) return true;
  if (!port.sends_data() || !port.fits(packet.size())) {
    ++port.totals().send_discards;
    return false;
  }
  return !port.enforces_out() || passes(port, packet, &PortTotals::send_constraints);
}

void SubnetSwitch::forward(PortNumber arrived, std::uint16_t lid, Packet packet) {
  const PortNumber way = tables_.way_to(lid);
  if (way == wire::infiniband::kNoPort || way == 0) {
    ++ports_[arrived]->totals().relay_errors;
    return;
  }
  if (is_let_out(*ports_[way], packet)) send(way, std::move(packet));
}

void SubnetSwitch::forward_multicast(PortNumber arrived, std::uint16_t lid, const Packet& packet) {
  const PortMask ways = tables_.ways_to(lid);
  bool has_way = false;
  for (unsigned port = 1; port <= ports(); ++port) {
    const auto way = static_cast<PortNumber>(port);
    if (!has_port(ways, way)) continue;
    has_way = true;
    if (way == arrived || !is_let_out(*ports_[way], packet)) continue;
    send(way, packet);
  }
  if (!has_way) ++ports_[arrived]->totals().relay_errors;
}

void SubnetSwitch::send(PortNumber number, Packet packet) {
  PortTotals& totals = ports_[number]->totals();
  if (ends_[number] == nullptr) {
    ++totals.send_discards;
    return;
  }
  const std::uint16_t lid = header_at<LocalRouteHeader>(packet).destination.get();
  const std::size_t bytes = packet.size();
  ends_[number]->send(std::move(packet));
  queue_.count_sent_on();
  totals.sent_bytes += bytes;
  ++(wire::infiniband::is_multicast_lid(lid) ? totals.sent_multicast : totals.sent_unicast);
}

// For the switch itself.
void SubnetSwitch::take(PortNumber arrived, const Packet& packet) {
  const auto read = wire::infiniband::read_datagram(packet);
  PortTotals& totals = ports_[arrived]->totals();
  if (!read || read->payload.size() != kMadBytes) {
    ++totals.receive_errors;
    return;
  }
  const DatagramHeaders& headers = read->headers;
  if (headers.lane == kManagementLane &&
      headers.destination_qp == wire::infiniband::kSubnetQueuePair) {
    const auto smp = header_at<SubnetManagementPacket>(read->payload);
    if (!wire::infiniband::is_subnet_management(smp.header.management_class)) return;
    if (smp.header.method != method::kTrapRepress)
      subnet_.on_arrival(arrived, headers, smp);
    else if (has_key(smp.management_key.get(), arrived))
      notices_.repress(smp.header.transaction.get());
    else
      on_bad_key({.lid = headers.source}, smp);
    return;
  }
  const bool is_service = headers.lane != kManagementLane &&
                          headers.destination_qp == wire::infiniband::kServiceQueuePair &&
                          headers.qkey == wire::infiniband::kServiceQkey;
  if (!is_service || !PerformanceAgent::answers(header_at<MadHeader>(read->payload))) {
    ++totals.receive_errors;
    return;
  }
  const std::uint16_t key = ports_[0]->partition_for(headers.partition);
  if (key == 0) {
    ports_[0]->count_partition_violation();
    return;
  }
  const auto answer = performance_.answer(header_at<PerformancePacket>(read->payload));
  const DatagramHeaders back{.source = ports_[0]->lid(),
                             .destination = headers.source,
                             .service_level = headers.service_level,
                             .partition = key,
                             .qkey = wire::infiniband::kServiceQkey,
                             .source_qp = wire::infiniband::kServiceQueuePair,
                             .destination_qp = headers.source_qp};
  Packet out;
  out.entered = packet.entered;
  wire::infiniband::write_datagram(back, std::as_bytes(std::span(&answer, 1)), out);
  forward(0, headers.source, std::move(out));
}

// ---- Management ----

void SubnetSwitch::send_through(PortNumber port, const SubnetInterface::Smp& smp) {
  const DatagramHeaders headers{.source = wire::infiniband::kPermissiveLid,
                                .destination = wire::infiniband::kPermissiveLid,
                                .lane = kManagementLane};
  Packet packet;
  wire::infiniband::write_datagram(headers, std::as_bytes(std::span(&smp, 1)), packet);
  send(port, std::move(packet));
}

// Its port 0 has one LID (14.2.5.6).
void SubnetSwitch::send_to(const MadAddress& to, const SubnetInterface::Smp& smp) {
  const DatagramHeaders headers{
      .source = ports_[0]->lid(), .destination = to.lid, .lane = kManagementLane};
  Packet packet;
  wire::infiniband::write_datagram(headers, std::as_bytes(std::span(&smp, 1)), packet);
  forward(0, to.lid, std::move(packet));
}

// No program runs at a switch.
void SubnetSwitch::deliver(const MadAddress& /*from*/, const SubnetInterface::Smp& /*smp*/) {}

void SubnetSwitch::on_bad_key(const MadAddress& from, const SubnetInterface::Smp& smp) {
  notices_.tell(bad_management_key(wire::infiniband::NodeType::kSwitch, from, smp), clock_.now);
}

// ---- What changes ----

void SubnetSwitch::on_port_change(PortNumber number) {
  count_change();
  if (number == 0) {
    notices_.tell_again(clock_.now);
    return;
  }
  const PortState state = ports_[number]->state();
  if (std::exchange(last_states_[number], state) == state) return;
  // 14.2.5.4: the steps that the manager orders itself are no news for it.
  if (state != PortState::kDown && state != PortState::kInitialize) return;
  tables_.mark_port_change();
  notices_.tell(notice_of(trap::kLinkStateChanged, wire::infiniband::NoticeType::kUrgent,
                          wire::infiniband::NodeType::kSwitch),
                clock_.now);
}

void SubnetSwitch::on_link_order(PortNumber port) {
  if (ends_[port] != nullptr) ends_[port]->on_order();
}

void SubnetSwitch::on_time(Instant now) {
  Port& own = *ports_[0];
  own.on_time(now);
  const std::uint16_t master = own.info().master_lid.get();
  if (own.lid() == 0 || master == 0) return;
  for (const Notices::Due& due : notices_.take_due(now))
    send_to({.lid = master}, Notices::trap_of(due, own.info().lid));
}

Instant SubnetSwitch::next_deadline() const {
  const Port& own = *ports_[0];
  const bool is_heard = own.lid() != 0 && own.info().master_lid.get() != 0;
  return std::min(own.next_deadline(), is_heard ? notices_.next_deadline() : kNever);
}

}  // namespace paravane::subnet
