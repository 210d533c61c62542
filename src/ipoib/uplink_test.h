// UplinkTest: what tests of an uplink share: two uplinks of one subnet with a VM behind each, and
// packets of a stranger that arrive at the first. Tests of one rule stand together in a source.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "ipoib/uplink.h"
#include "testing/recording_link_end.h"
#include "testing/uplink_rig.h"

namespace paravane::ipoib {

using fake::count_of;
using fake::FrameBytes;
using fake::kToAll;
using fake::UplinkRig;
using std::chrono::seconds;
using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::Ipv6Address;
using wire::infiniband::kEtherTypeArp;
using wire::infiniband::Mtu;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

inline constexpr MacBytes kHere{0x00, 0x16, 0x3E, 0, 0, 1};   // of a VM at the first uplink
inline constexpr MacBytes kThere{0x00, 0x16, 0x3E, 0, 0, 2};  // at the second
inline constexpr wire::infiniband::Ipv4Address kIpHere{10, 0, 0, 1};
inline constexpr wire::infiniband::Ipv4Address kIpThere{10, 0, 0, 2};

inline constexpr std::uint16_t kKeyOfAll = wire::infiniband::kDefaultPartition;

// What a host of the subnet sends to the first port.
struct Stranger {
  std::uint32_t number = 0x77;
  std::uint16_t lid = 0x55;
  wire::infiniband::Gid gid{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x55};

  MacBytes mac() const { return *remote_mac({.number = number, .lid = lid}); }
  IpoibAddress address() const { return {.number = Be24(number), .gid = gid}; }
};

inline FrameBytes encapsulated(std::uint16_t type, std::span<const std::byte> packet) {
  wire::infiniband::EncapsulationHeader header;
  header.type.set(type);
  FrameBytes bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.insert(bytes.end(), packet.begin(), packet.end());
  return bytes;
}

class UplinkTest : public testing::Test {
 protected:
  UplinkTest() { add(0); }

  void add(std::uint16_t vlan) {
    ASSERT_TRUE(rig_.first.add_vlan(vlan));
    ASSERT_TRUE(rig_.second.add_vlan(vlan));
    ASSERT_TRUE(rig_.run());
  }
  void make_partitions(std::vector<std::uint16_t> keys) {
    for (const std::uint16_t key : keys) {
      if (key != kKeyOfAll)
        rig_.administration.make_group(static_cast<std::uint16_t>(key | 0x8000),
                                       {.qkey = std::uint32_t{key}});
    }
    ASSERT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, keys));
    ASSERT_TRUE(rig_.write_partitions(UplinkRig::kSecondPort, keys));
    ASSERT_TRUE(rig_.run());
  }
  // For the VM there, from the VM here.
  static EthernetArp request() {
    return {.operation = ArpOperation::kRequest,
            .sender = kHere,
            .sender_ipv4 = kIpHere,
            .target_ipv4 = kIpThere};
  }
  // The MAC under which the second side knows the VM here.
  MacBytes here_seen(std::uint16_t vlan = 0) {
    rig_.first.on_frame(vlan, fake::arp_frame(kToAll, request()));
    EXPECT_TRUE(rig_.run());
    const auto frames = rig_.second_vms.take();
    EXPECT_EQ(frames.size(), 1u);
    return frames.empty() ? MacBytes{} : frames[0].frame().source;
  }
  // And the first side that there.
  MacBytes there_seen(std::uint16_t vlan = 0) {
    const MacBytes here = here_seen(vlan);
    rig_.second.on_frame(vlan, fake::arp_frame(here, {.operation = ArpOperation::kReply,
                                                      .sender = kThere,
                                                      .sender_ipv4 = kIpThere,
                                                      .target = here,
                                                      .target_ipv4 = kIpHere}));
    EXPECT_TRUE(rig_.run());
    const auto frames = rig_.first_vms.take();
    EXPECT_EQ(frames.size(), 1u);
    return frames.empty() ? MacBytes{} : frames[0].frame().source;
  }
  static FrameBytes ipv4_frame(const MacBytes& to, std::size_t bytes = 100) {
    return fake::frame_of(to, kHere, kEtherTypeIpv4, fake::ipv4_packet(bytes));
  }
  // What the second side's VMs get of such a frame.
  std::size_t reached(const MacBytes& to, std::uint16_t vlan = 0) {
    rig_.first.on_frame(vlan, ipv4_frame(to));
    EXPECT_TRUE(rig_.run());
    return rig_.second_vms.take().size();
  }
  // The first side's path to it is known, too.
  MacBytes there_reached() {
    const MacBytes there = there_seen();
    EXPECT_EQ(reached(there), 1u);
    return there;
  }
  // The switch sends what is for `lid` to one of its ports.
  void route(std::uint16_t lid, std::uint8_t port) {
    namespace attribute = wire::infiniband::attribute;
    wire::infiniband::SwitchInfo info = rig_.net.subnet.the_switch().tables().info();
    info.linear_top.set(lid);
    ASSERT_TRUE(rig_.net.manager.ask_at({1}, fake::set_of(attribute::kSwitchInfo, info)));
    wire::infiniband::LinearBlock block;
    block.fill(wire::infiniband::kNoPort);
    block[lid % wire::infiniband::kLidsInLinearBlock] = port;
    ASSERT_TRUE(rig_.net.manager.ask_at(
        {1},
        fake::set_of(attribute::kLinearTable, block, lid / wire::infiniband::kLidsInLinearBlock)));
  }
  // From now on what the first port sends to others is recorded, and goes nowhere.
  void record() { rig_.net.first.attach(1, wire_); }
  static Datagram read(const subnet::Packet& packet) {
    const auto datagram = wire::infiniband::read_datagram(packet);
    EXPECT_TRUE(datagram);
    return datagram.value_or(Datagram{});
  }
  std::uint64_t count(std::string_view name) const { return count_of(rig_.first, name); }
  // The queue pair of the VM here.
  std::uint32_t own_number(std::uint16_t vlan = 0) {
    return remote_queue_pair(here_seen(vlan)).value_or(RemoteQueuePair{}).number;
  }

  DatagramHeaders to_group(const Stranger& from, std::uint16_t partition = kKeyOfAll) {
    const auto full = static_cast<std::uint16_t>(partition | 0x8000);
    return {.source = from.lid,
            .destination = rig_.administration.lid_of(full),
            .global =
                wire::infiniband::GlobalRoute{.source = from.gid,
                                              .destination = wire::infiniband::broadcast_gid(full)},
            .partition = partition,
            .qkey = partition == kKeyOfAll ? 0x0B1Bu : partition,
            .source_qp = from.number,
            .destination_qp = wire::infiniband::kMulticastQueuePair};
  }
  DatagramHeaders to_pair(const Stranger& from, std::uint32_t pair) {
    return {.source = from.lid,
            .destination = rig_.net.first_lid(),
            .partition = kKeyOfAll,
            .qkey = 0x0B1B,
            .source_qp = from.number,
            .destination_qp = pair};
  }
  // It arrives at the first port.
  std::vector<fake::RecordingFrameSink::Delivered> hear(const DatagramHeaders& headers,
                                                        std::span<const std::byte> payload) {
    rig_.net.first.on_packet(1, fake::packet_with(headers, payload));
    EXPECT_TRUE(rig_.run());
    return rig_.first_vms.take();
  }

  fake::RecordingLinkEnd wire_;  // until the uplinks have left their groups
  UplinkRig rig_;
};

}  // namespace paravane::ipoib
