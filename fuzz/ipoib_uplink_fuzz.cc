// VMs, hosts of the subnet and its administration, all hostile, at an IPoIB uplink. The input is a
// list of acts (ipoib_uplink_script.h).
//
// What must hold besides the sanitizers: each act has an end; what is remembered and what waits is
// within its bounds; no packet that the uplink sends reaches a queue pair of management, a group of
// another partition or a partition that the port is not in; and each frame that VMs get is
// from a MAC that stands for a queue pair elsewhere, for all or for a VM of that VLAN.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "ipoib_uplink_script.h"
#include "promise.h"
#include "testing/port_orders.h"
#include "testing/uplink_rig.h"
#include "wire/infiniband/attribute.h"

namespace paravane::fake {
namespace {

namespace attribute = wire::infiniband::attribute;
using ipoib::IpoibAddress;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::Gid;

constexpr int kMostActs = 120;
constexpr std::uint16_t kVlans[] = {0, 5, 6, 7};
constexpr std::uint16_t kKeys[] = {0xFFFF, 0x8005, 0x0006, 0x8007};
constexpr std::uint16_t kFarLids[] = {0x55, 0x56, 0x57, 0x58};

Gid far_gid(std::uint16_t lid) {
  return gid_of_port(0x0202'0000'0000'F000 + lid);
}

// The cable of the first port, at which each packet is looked at. The switch does not answer within
// the call.
class Watch final : public subnet::LinkEnd {
 public:
  explicit Watch(UplinkRig& rig) : rig_(rig) { rig_.net.first.attach(1, *this); }

  void send(subnet::Packet packet) override {
    const auto read = wire::infiniband::read_datagram(packet);
    require(read.has_value());
    const DatagramHeaders& headers = read->headers;
    if (headers.lane != wire::infiniband::kManagementLane &&
        headers.source_qp != wire::infiniband::kServiceQueuePair)
      judge(headers, read->payload);
    rig_.net.subnet.the_switch().on_packet(1, std::move(packet));
  }
  void on_order() override {}

 private:
  void judge(const DatagramHeaders& headers, std::span<const std::byte> payload) const {
    require(headers.destination_qp > wire::infiniband::kServiceQueuePair);
    require(headers.source_qp >= subnet::QueuePairs::kFirst);
    require((headers.qkey & 0x8000'0000) == 0);
    const bool is_group = headers.destination_qp == wire::infiniband::kMulticastQueuePair;
    require(is_group == wire::infiniband::is_multicast_lid(headers.destination));
    require(is_group || wire::infiniband::is_unicast_lid(headers.destination));
    require(payload.size() > sizeof(wire::infiniband::EncapsulationHeader));
    // Two VLANs may be one partition, and learn of its group one after the other.
    const auto is_of = [&](const ipoib::Membership* membership) {
      const ipoib::BroadcastGroup* group = membership->group();
      return group != nullptr && group->partition == headers.partition &&
             group->qkey == headers.qkey && (!is_group || is_group_of(headers, *group)) &&
             payload.size() - sizeof(wire::infiniband::EncapsulationHeader) <= group->mtu;
    };
    require(std::ranges::any_of(rig_.first.memberships(), is_of));
  }

  // The broadcast group, or one of IP in its partition.
  static bool is_group_of(const DatagramHeaders& headers, const ipoib::BroadcastGroup& group) {
    if (!headers.global) return false;
    const Gid& gid = headers.global->destination;
    if (gid == group.gid) return headers.destination == group.lid;
    constexpr std::size_t kPrefixBytes = 6;
    return std::ranges::any_of(
        std::array{wire::infiniband::kIpv4Signature, wire::infiniband::kIpv6Signature},
        [&](std::uint16_t signature) {
          const Gid prefix = wire::infiniband::group_prefix(signature, group.partition,
                                                            wire::infiniband::kLinkLocalScope);
          return std::equal(gid.begin(), gid.begin() + kPrefixBytes, prefix.begin());
        });
  }

  UplinkRig& rig_;
};

class UplinkFuzz {
 public:
  explicit UplinkFuzz(FuzzBytes& input) : input_(input) {
    for (const std::uint16_t key : kKeys)
      rig_.administration.make_group(static_cast<std::uint16_t>(key | 0x8000));
    require(rig_.write_partitions(UplinkRig::kFirstPort, {std::begin(kKeys), std::end(kKeys)}));
    require(rig_.write_partitions(UplinkRig::kSecondPort, {0xFFFF, 0x8005, 0x8006, 0x8007}));
    rig_.administration.add_node(kFarLids[0], far_gid(kFarLids[0]));
    for (const std::uint16_t vlan : {kVlans[0], kVlans[1]}) {
      require(rig_.first.add_vlan(vlan));
      require(rig_.second.add_vlan(vlan));
    }
    settle();
  }

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act();
      settle();
    }
    for (const std::uint16_t vlan : kVlans) rig_.first.remove_vlan(vlan);
    settle();
    require(rig_.first.addresses() == 0);
    require(rig_.first.multicast().wanted().size() == 0);
    require(rig_.first.multicast().memberships().size() == 0);
    require(rig_.first.multicast().senders().size() == 0);
    require(rig_.first.next_deadline() > rig_.net.clock.now);
  }

 private:
  void settle() {
    require(rig_.run());
    for (const auto& delivered : rig_.first_vms.take()) judge(delivered);
    rig_.second_vms.take();
    const ipoib::Paths& paths = rig_.first.paths();
    require(rig_.first.addresses() <= ipoib::OwnAddresses::kMost);
    require(rig_.first.memberships().size() <= ipoib::Uplink::kMostPartitions);
    require(paths.size() <= ipoib::Paths::kMost);
    require(paths.open_questions() <= ipoib::Paths::kMostAsked);
    require(paths.waiting_bytes() <= ipoib::Paths::kMostWaitingBytes);
    const ipoib::Multicast& multicast = rig_.first.multicast();
    require(multicast.wanted().size() <= ipoib::WantedGroups::kMost);
    require(multicast.wanted().listeners() <= ipoib::WantedGroups::kMostListeners);
    // Two of each VLAN's are reported by none.
    require(multicast.memberships().size() <=
            ipoib::WantedGroups::kMost + 2 * rig_.first.memberships().size());
    require(multicast.memberships().open_questions() <= ipoib::GroupMemberships::kMostAsked);
    require(multicast.senders().size() <= ipoib::SenderGroups::kMost);
    require(multicast.senders().open_questions() <= ipoib::SenderGroups::kMostAsked);
    rig_.first_vms.queries.clear();
    rig_.second_vms.queries.clear();
  }

  void judge(const RecordingFrameSink::Delivered& delivered) const {
    const auto frame = ipoib::read_frame(delivered.bytes);
    require(frame.has_value());
    require(!frame->vlan);
    require(ipoib::remote_queue_pair(frame->source).has_value());
    require((frame->destination[0] & 1) != 0 ||
            spoken_.contains({delivered.vlan, frame->destination}));
  }

  void act() {
    switch (static_cast<IpoibUplinkAct>(input_.below(std::to_underlying(IpoibUplinkAct::kCount)))) {
      case IpoibUplinkAct::kFrame: return frame();
      case IpoibUplinkAct::kPacket: return packet();
      case IpoibUplinkAct::kAnswer: return answer();
      case IpoibUplinkAct::kManners: return manners();
      case IpoibUplinkAct::kGroup: return group();
      case IpoibUplinkAct::kVlan: return change_vlan();
      case IpoibUplinkAct::kKeys: return change_keys();
      case IpoibUplinkAct::kChange: return change();
      case IpoibUplinkAct::kNode: return change_node();
      case IpoibUplinkAct::kTime: {
        require(rig_.advance(std::chrono::milliseconds(100 * input_.u8())));
        return;
      }
      case IpoibUplinkAct::kMove: return move();
      case IpoibUplinkAct::kCount: break;
    }
  }

  // ---- What acts name ----

  std::uint16_t vlan_of_act() {
    const std::uint8_t pick = input_.u8();
    return pick < std::size(kVlans) ? kVlans[pick] : pick;
  }
  std::uint16_t lid_of_act() {
    switch (const std::uint8_t pick = input_.u8()) {
      case 0: return rig_.net.first_lid();
      case 1: return rig_.net.second_lid();
      case 2: return rig_.net.switch_lid();
      case 3: return 0;
      case 4: return 0xC000;
      case 5: return 0xFFFF;
      case 6: return 0xC001;
      case 7: return 0xBFFF;
      default: return kFarLids[pick % std::size(kFarLids)];
    }
  }
  std::uint32_t pair_of_act() {
    switch (const std::uint8_t pick = input_.u8()) {
      case 0: return 0;
      case 1: return 1;
      case 2: return 0xFF'FFFF;
      case 3: return 0x50'5600;
      case 4: return 0xFF'FFFE;
      case 255: return input_.u32() & 0xFF'FFFF;
      default: return subnet::QueuePairs::kFirst + pick % 16;
    }
  }
  MacBytes mac_of_act() {
    const std::uint8_t pick = input_.u8();
    if (pick < 4) return {0, 0x16, 0x3E, 0, 0, pick};
    switch (pick) {
      case 4: return kToAll;
      case 5: return {0x33, 0x33, 0xFF, 0, 0, 2};
      case 6: return {1, 0, 0x5E, 0, 0, 1};
      case 7: return {};
      default: break;
    }
    if (pick >= 0xF0) return {2, pick, input_.u8(), input_.u8(), input_.u8(), input_.u8()};
    const std::uint32_t number = pair_of_act();
    const std::uint16_t lid = lid_of_act();
    return {2,
            static_cast<std::uint8_t>(number >> 16),
            static_cast<std::uint8_t>(number >> 8),
            static_cast<std::uint8_t>(number),
            static_cast<std::uint8_t>(lid >> 8),
            static_cast<std::uint8_t>(lid)};
  }
  std::uint16_t type_of_act() {
    static constexpr std::uint16_t kTypes[] = {0x0800, 0x86DD, 0x0806, 0x8035, 0x88CC, 0x8100};
    return kTypes[input_.u8() % std::size(kTypes)];
  }
  IpoibAddress address_of_act() {
    IpoibAddress address{.number = Be24(pair_of_act())};
    const std::uint8_t pick = input_.u8();
    address.gid = pick == 0   ? gid_of_port(UplinkRig::kFirstPort)
                  : pick == 1 ? gid_of_port(UplinkRig::kSecondPort)
                              : far_gid(kFarLids[pick % std::size(kFarLids)]);
    return address;
  }

  // ---- Payloads ----

  FrameBytes payload(bool is_ethernet) {
    FrameBytes bytes = whole_payload(is_ethernet);
    for (std::size_t changes = input_.below(8); changes != 0; --changes) {
      const std::uint16_t place = input_.u16();
      const std::byte value{input_.u8()};
      if (!bytes.empty()) bytes[place % bytes.size()] = value;
    }
    return bytes;
  }
  FrameBytes whole_payload(bool is_ethernet) {
    switch (static_cast<IpoibPayload>(input_.below(std::to_underlying(IpoibPayload::kCount)))) {
      case IpoibPayload::kArp: return arp(is_ethernet);
      case IpoibPayload::kIpv4: {
        const std::size_t bytes = 20 + input_.u16() % 4100U;
        const std::uint8_t protocol = input_.u8();
        return ipv4_packet(bytes,
                           {.protocol = protocol, .may_be_fragmented = input_.below(2) != 0});
      }
      case IpoibPayload::kNeighbour: return neighbour(is_ethernet);
      case IpoibPayload::kIpv6: {
        const FrameBytes data(input_.u16() % 4100U);
        return ipv6_packet({0xFE, 0x80}, {0xFE, 0x80, 1}, input_.u8(), 64, data);
      }
      case IpoibPayload::kDhcpAnswer: {
        FrameBytes packet = ipv4_packet(300);
        const std::array<std::uint8_t, 9> udp{0, 67, 0, 68, 1, 24, 0, 0, 2};
        std::memcpy(&packet[20], udp.data(), udp.size());
        return packet;
      }
      case IpoibPayload::kIgmp: return igmp();
      case IpoibPayload::kMld: return mld();
      case IpoibPayload::kRaw:
      case IpoibPayload::kCount: break;
    }
    FrameBytes bytes(input_.u8());
    for (std::byte& byte : bytes) byte = std::byte{input_.u8()};
    return bytes;
  }
  // A message with one group, or a report with one record of it; its group is `prefix` and a byte.
  // The numbers of IGMP's and MLD's types with records are `with_records`.
  FrameBytes report(std::uint8_t with_records, FrameBytes prefix, std::size_t before_group) {
    const std::uint8_t type = input_.u8();
    prefix.push_back(std::byte{input_.u8()});
    const std::uint8_t record = input_.u8();
    const std::uint8_t sources = input_.u8();
    FrameBytes message(type == with_records ? 12 : before_group);
    message[0] = std::byte{type};
    if (type == with_records) {
      message[7] = std::byte{1};
      message[8] = std::byte{record};
      message[11] = std::byte{sources};
    }
    const std::size_t group_bytes = prefix.size();
    message.insert(message.end(), prefix.begin(), prefix.end());
    if (type == with_records) message.resize(message.size() + sources * group_bytes);
    return message;
  }
  FrameBytes igmp() {
    FrameBytes message = report(0x22, {std::byte{239}, std::byte{1}, std::byte{2}}, 4);
    const Be16 checksum(ipoib::checksum_of(message));
    std::memcpy(&message[2], &checksum, sizeof checksum);
    FrameBytes packet = ipv4_packet(
        20 + message.size(), {.to = {224, 0, 0, 22}, .protocol = 2, .may_be_fragmented = true});
    std::ranges::copy(message, packet.begin() + 20);
    return packet;
  }
  FrameBytes mld() {
    FrameBytes prefix(15);
    prefix[0] = std::byte{0xFF};
    prefix[1] = std::byte{2};
    FrameBytes message = report(143, prefix, 8);
    const wire::infiniband::Ipv6Address from{0xFE, 0x80};
    const wire::infiniband::Ipv6Address to{0xFF, 2};
    const Be16 checksum(ipoib::icmpv6_checksum(from, to, message));
    std::memcpy(&message[2], &checksum, sizeof checksum);
    return ipv6_packet(from, to, 58, 1, message);
  }
  FrameBytes arp(bool is_ethernet) {
    const auto operation = static_cast<ipoib::ArpOperation>(input_.below(6));
    if (is_ethernet) {
      const MacBytes sender = mac_of_act();
      const auto bytes = ipoib::ethernet_arp({.operation = operation,
                                              .sender = sender,
                                              .sender_ipv4 = {10, 0, 0, sender[5]},
                                              .target = mac_of_act()});
      return FrameBytes(bytes.begin(), bytes.end());
    }
    const IpoibAddress sender = address_of_act();
    const auto bytes = ipoib::infiniband_arp(
        {.operation = operation, .sender = sender, .target = address_of_act()});
    return FrameBytes(bytes.begin(), bytes.end());
  }
  FrameBytes neighbour(bool is_ethernet) {
    const auto type = static_cast<std::uint8_t>(133 + input_.below(5));
    const wire::infiniband::Ipv6Address from{0xFE, 0x80};
    const wire::infiniband::Ipv6Address to{0xFF, 2};
    if (is_ethernet) return neighbour_packet(type, from, to, from, mac_of_act());
    const IpoibAddress address = address_of_act();
    std::array<std::uint8_t, sizeof address> bytes{};
    std::memcpy(bytes.data(), &address, sizeof address);
    return neighbour_packet(type, from, to, from, bytes);
  }

  // ---- Acts ----

  void frame() {
    const std::uint16_t vlan = vlan_of_act();
    const MacBytes to = mac_of_act();
    const MacBytes from = mac_of_act();
    const std::uint16_t type = type_of_act();
    spoken_.insert({vlan, from});
    rig_.first.on_frame(vlan, frame_of(to, from, type, payload(true)));
    // A frame that waits does so within the act.
    require(rig_.first.paths().waiting_bytes() <= ipoib::Paths::kMostWaitingBytes);
  }

  void packet() {
    const std::uint8_t flags = input_.u8();
    const std::uint16_t key = kKeys[(flags >> 1) % std::size(kKeys)];
    const auto full = static_cast<std::uint16_t>(key | 0x8000);
    DatagramHeaders headers{.source = lid_of_act(), .partition = full, .qkey = 0x0B1B};
    headers.source_qp = pair_of_act();
    if ((flags & 1) != 0) {
      headers.destination = rig_.administration.lid_of(full);
      headers.destination_qp = wire::infiniband::kMulticastQueuePair;
    } else {
      headers.destination = rig_.net.first_lid();
      headers.destination_qp = pair_of_act();
    }
    if ((flags & 8) == 0)
      headers.global = wire::infiniband::GlobalRoute{
          .source = address_of_act().gid, .destination = wire::infiniband::broadcast_gid(full)};
    wire::infiniband::EncapsulationHeader header;
    header.type.set(type_of_act());
    FrameBytes bytes(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    const FrameBytes more = payload(false);
    bytes.insert(bytes.end(), more.begin(), more.end());
    if ((flags & 16) != 0) bytes.resize(input_.u8() % 8);
    if (bytes.size() > wire::infiniband::kMostPayloadBytes)
      bytes.resize(wire::infiniband::kMostPayloadBytes);
    rig_.net.first.on_packet(1, packet_with(headers, bytes));
  }

  void answer() {
    wire::infiniband::AdministrationPacket mad;
    mad.header.management_class = wire::infiniband::management_class::kSubnetAdministration;
    mad.header.class_version = wire::infiniband::kAdministrationVersion;
    const std::uint64_t number = input_.u8();
    const std::uint8_t flags = input_.u8();
    mad.header.method = input_.u8();
    mad.header.status.set(input_.u16());
    mad.header.transaction.set((std::uint64_t{flags & 7U} << 32) | number);
    if ((flags & 8) != 0) {
      mad.header.attribute.set(attribute::kMulticastMemberRecord);
      wire::infiniband::MulticastMember member;
      member.group = wire::infiniband::broadcast_gid(kKeys[input_.u8() % std::size(kKeys)]);
      member.qkey.set(input_.u32());
      member.lid.set(input_.u16());
      member.mtu = input_.u8();
      wire::infiniband::put_attribute(member, mad);
    } else {
      mad.header.attribute.set(attribute::kPathRecord);
      wire::infiniband::PathRecord path;
      path.destination_lid.set(lid_of_act());
      path.mtu = input_.u8();
      path.class_level.set(input_.u16());
      wire::infiniband::put_attribute(path, mad);
    }
    const std::uint16_t from = (flags & 16) != 0 ? lid_of_act() : rig_.net.first_lid();
    rig_.net.first.on_packet(
        1, packet_with(service_headers(from, rig_.net.first_lid()), mad_bytes(mad)));
  }

  void manners() {
    SubnetAdministration::Manners& wish =
        input_.below(2) == 0 ? rig_.administration.to_members() : rig_.administration.to_paths();
    const std::uint8_t flags = input_.u8();
    const std::uint8_t status = input_.u8();
    wish = {.is_silent = (flags & 1) != 0,
            .is_busy = (flags & 2) != 0,
            .is_of_another = (flags & 4) != 0};
    if ((flags & 8) != 0) wish.refusal = wire::infiniband::AdministrationStatus{status};
    if ((flags & 16) != 0) wish.method = static_cast<std::uint8_t>(status | 0x80);
    if ((flags & 32) != 0) wish.attribute = status;
    rig_.administration.use_path_mtu(wire::infiniband::Mtu{static_cast<std::uint8_t>(status & 7)});
  }

  void group() {
    const std::uint16_t key = kKeys[input_.u8() % std::size(kKeys)];
    const std::uint8_t flags = input_.u8();
    SubnetAdministration::Group wish;
    if ((flags & 1) != 0) wish.qkey = input_.u32();
    if ((flags & 2) != 0)
      wish.mtu = wire::infiniband::Mtu{static_cast<std::uint8_t>(input_.u8() & 63)};
    if ((flags & 4) != 0) wish.lid = input_.u16();
    // A switch has so many multicast LIDs.
    if (wish.lid >= 0xC100) wish.lid = 0;
    if ((flags & 8) != 0) wish.level = static_cast<std::uint8_t>(input_.u8() & 15);
    rig_.administration.make_group(static_cast<std::uint16_t>(key | 0x8000), wish);
  }

  void change_vlan() {
    const std::uint16_t vlan = vlan_of_act();
    if (input_.below(2) != 0)
      rig_.first.remove_vlan(vlan);
    else
      (void)rig_.first.add_vlan(vlan);
  }

  void change_keys() {
    const std::uint8_t flags = input_.u8();
    std::vector<std::uint16_t> keys;
    if ((flags & 16) != 0) keys.push_back(0x8005);
    for (std::size_t i = 0; i < std::size(kKeys); ++i) {
      if (((flags >> i) & 1) != 0) keys.push_back(kKeys[i]);
    }
    (void)rig_.write_partitions(UplinkRig::kFirstPort, keys);
  }

  void change() {
    subnet::Port& port = *rig_.net.first.port(1);
    switch (input_.below(4)) {
      case 0: return rig_.administration.want_registrations();
      case 1: return port.link_down();
      case 2:
        if (port.state() != wire::infiniband::PortState::kDown) return;
        port.link_up(subnet::Speed::kQuad);
        [[fallthrough]];
      default: {
        if (port.state() == wire::infiniband::PortState::kActive)
          require(set_port_identity(port, 0x70, port.info().master_lid.get()));
        settle();
        rig_.net.manager.sweep();
      }
    }
  }

  // Another uplink of the team has a VM's address for a moment.
  void move() {
    const std::uint16_t vlan = vlan_of_act();
    const MacBytes mac = mac_of_act();
    const std::size_t before = rig_.first.addresses();
    const auto left = rig_.first.give_up(mac, vlan);
    require(rig_.first.addresses() + (left ? 1 : 0) == before);
    if (!left) return;
    require(left->claims.ipv4.all().size() <= 8 && left->claims.ipv6.all().size() <= 8);
    require(left->groups.size() <= ipoib::WantedGroups::kMostOfMac);
    rig_.first.take_over(mac, vlan, *left);
  }

  void change_node() {
    const std::uint16_t lid = kFarLids[input_.u8() % std::size(kFarLids)];
    rig_.administration.add_node(lid, far_gid(static_cast<std::uint16_t>(lid + input_.below(2))));
  }

  FuzzBytes& input_;
  UplinkRig rig_;
  Watch watch_{rig_};
  std::set<std::pair<std::uint16_t, MacBytes>> spoken_;  // of VMs
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::UplinkFuzz(input).run();
  return 0;
}
