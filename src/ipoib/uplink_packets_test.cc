#include "ipoib/uplink_test.h"

namespace paravane::ipoib {
namespace {

TEST_F(UplinkTest, AStrangersPacketsArriveUnderItsMac) {
  const std::uint32_t number = own_number();
  const Stranger stranger;
  const FrameBytes packet = fake::ipv4_packet(70);
  auto heard = hear(to_pair(stranger, number), encapsulated(kEtherTypeIpv4, packet));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].bytes, fake::frame_of(kHere, stranger.mac(), kEtherTypeIpv4, packet));
  heard = hear(to_group(stranger), encapsulated(kEtherTypeIpv4, packet));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].bytes, fake::frame_of(kToAll, stranger.mac(), kEtherTypeIpv4, packet));
  EXPECT_EQ(count("frames_received"), 2u);
  EXPECT_EQ(count("bytes_received"), 2u * 84);
}

TEST_F(UplinkTest, PacketsThatAreNotIpOverInfinibandAreDropped) {
  const std::uint32_t number = own_number();
  const FrameBytes good = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(2044));
  const auto is_dropped = [&](const DatagramHeaders& headers, std::span<const std::byte> payload) {
    const std::uint64_t before = count("bad_packets");
    const auto heard = hear(headers, payload);
    return heard.empty() && count("bad_packets") == before + 1;
  };
  const Stranger stranger;
  EXPECT_FALSE(is_dropped(to_pair(stranger, number), good));
  EXPECT_TRUE(is_dropped(to_pair(stranger, number), {}));
  EXPECT_TRUE(is_dropped(to_pair(stranger, number), std::span(good).first(3)));
  EXPECT_TRUE(is_dropped(to_pair(stranger, number), std::span(good).first(4)));
  EXPECT_TRUE(
      is_dropped(to_pair(stranger, number), encapsulated(kEtherTypeIpv4, fake::ipv4_packet(2045))));
  EXPECT_TRUE(
      is_dropped(to_group(stranger), encapsulated(kEtherTypeIpv4, fake::ipv4_packet(2045))));
  EXPECT_TRUE(is_dropped(to_pair(stranger, number), encapsulated(0x88CC, fake::ipv4_packet(60))));
  // Senders without a MAC.
  for (const std::uint32_t from : {0u, 1u, 0xFF'FFFFu, 0x50'5601u}) {
    EXPECT_TRUE(is_dropped(to_pair({.number = from}, number), good)) << from;
    EXPECT_TRUE(is_dropped(to_group({.number = from}), good)) << from;
  }
  for (const unsigned lid : {0u, 0xC000u, 0xFFFFu})
    EXPECT_TRUE(is_dropped(to_group({.lid = static_cast<std::uint16_t>(lid)}), good)) << lid;
  // The queue pair that hears the group is no one's address: it was made first.
  EXPECT_TRUE(is_dropped(to_pair(stranger, subnet::QueuePairs::kFirst), good));
}

TEST_F(UplinkTest, OnesOwnPacketsAreDropped) {
  const std::uint32_t number = own_number();
  const std::uint64_t before = count("own_loops");
  const Stranger self{.number = number, .lid = rig_.net.first_lid()};
  const FrameBytes good = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60));
  EXPECT_TRUE(hear(to_group(self), good).empty());
  EXPECT_TRUE(hear(to_pair(self, number), good).empty());
  EXPECT_EQ(count("own_loops"), before + 2);
}

TEST_F(UplinkTest, ASenderInArpIsThatOfItsGlobalRoute) {
  const Stranger stranger;
  const Stranger other{.gid = {0xFE, 0x80, 9}};
  const auto arp = [](const Stranger& sender) {
    return encapsulated(kEtherTypeArp,
                        infiniband_arp({.sender = sender.address(), .sender_ipv4 = {1, 2, 3, 4}}));
  };
  EXPECT_EQ(hear(to_group(stranger), arp(stranger)).size(), 1u);
  EXPECT_EQ(hear(to_group(stranger), arp(other)).size(), 0u);
  EXPECT_EQ(count("bad_arp"), 1u);
  EXPECT_EQ(hear(to_group(stranger), arp({.number = 1})).size(), 0u);
  EXPECT_EQ(hear(to_group(stranger), arp({.number = 0x50'5601})).size(), 0u);
  EXPECT_EQ(count("bad_arp"), 3u) << "numbers without a MAC";
  EXPECT_EQ(hear(to_group(stranger), encapsulated(kEtherTypeArp, FrameBytes(55))).size(), 0u);
  EXPECT_EQ(count("bad_arp"), 4u);
}

TEST_F(UplinkTest, ASenderInDiscoveryIsThatOfItsGlobalRoute) {
  const Stranger stranger;
  const Stranger other{.gid = {0xFE, 0x80, 9}};
  const auto solicitation = [](const IpoibAddress& address) {
    std::array<std::uint8_t, sizeof address> bytes{};
    std::memcpy(bytes.data(), &address, sizeof address);
    return encapsulated(kEtherTypeIpv6, fake::neighbour_packet(135, {0xFE, 0x80}, {0xFF, 2},
                                                               {0xFE, 0x80, 1}, bytes));
  };
  EXPECT_EQ(hear(to_group(stranger), solicitation(stranger.address())).size(), 1u);
  EXPECT_EQ(hear(to_group(stranger), solicitation(other.address())).size(), 0u);
  IpoibAddress third = stranger.address();
  third.number.set(stranger.number + 1);
  EXPECT_EQ(hear(to_group(stranger), solicitation(third)).size(), 0u);
  EXPECT_EQ(count("bad_neighbours"), 2u);
}

TEST_F(UplinkTest, AnotherGidInArpEndsThePathToItsLid) {
  const std::uint32_t number = own_number();
  const Stranger stranger;
  rig_.administration.add_node(stranger.lid, stranger.gid);
  rig_.first.on_frame(0, ipv4_frame(stranger.mac()));
  ASSERT_TRUE(rig_.run());
  rig_.administration.forget_asked();
  const Stranger successor{.gid = {0xFE, 0x80, 9}};
  rig_.administration.add_node(successor.lid, successor.gid);
  const auto heard =
      hear(to_pair(successor, number),
           encapsulated(kEtherTypeArp, infiniband_arp({.operation = ArpOperation::kReply,
                                                       .sender = successor.address()})));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].frame().destination, kHere);
  record();
  EthernetArp probe = request();
  probe.target = successor.mac();
  rig_.first.on_frame(0, fake::arp_frame(successor.mac(), probe));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.administration.asked().size(), 1u);
  ASSERT_EQ(wire_.sent.size(), 1u);
  const auto arp = read_infiniband_arp(read(wire_.sent[0]).payload.subspan(4));
  ASSERT_TRUE(arp);
  EXPECT_EQ(arp->target.gid, successor.gid);
}

TEST_F(UplinkTest, AMacThatAVmHereHasIsRefusedToOthers) {
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  const Stranger stranger;
  const FrameBytes packet = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60));
  rig_.first.on_frame(
      0, fake::frame_of(kToAll, stranger.mac(), kEtherTypeIpv4, fake::ipv4_packet(60)));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(hear(to_group(stranger), packet).size(), 0u);
  EXPECT_EQ(count("bad_packets"), 1u);
  EXPECT_EQ(hear(to_group(stranger, 0x8005), packet).size(), 1u) << "a VLAN in which it has not";
  // Nor does another claim it in ARP.
  const Stranger claims{.number = 0x78};
  EXPECT_EQ(hear(to_group(claims),
                 encapsulated(kEtherTypeArp, infiniband_arp({.sender = stranger.address()})))
                .size(),
            0u);
  EXPECT_EQ(count("bad_arp"), 1u);
}

// One frame of a VM with the MAC of another node: on Ethernet it is forgotten like any other.
TEST_F(UplinkTest, AMacThatAVmTookIsTheOtherNodesAgain) {
  const Stranger stranger;
  const FrameBytes packet = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60));
  rig_.first.on_frame(
      0, fake::frame_of(kToAll, stranger.mac(), kEtherTypeIpv4, fake::ipv4_packet(60)));
  EXPECT_TRUE(hear(to_group(stranger), packet).empty());
  rig_.second_vms.take();
  EXPECT_EQ(reached(stranger.mac()), 0u);
  EXPECT_EQ(count("unknown_destinations"), 1u);
  ASSERT_TRUE(rig_.advance(OwnAddresses::kIdle));
  EXPECT_EQ(hear(to_group(stranger), packet).size(), 1u);
  EXPECT_EQ(reached(stranger.mac()), 0u) << "it is elsewhere";
  EXPECT_EQ(count("unknown_destinations"), 1u);
}

TEST_F(UplinkTest, TheMacOfANodeThatWasHeardIsNoVms) {
  const Stranger stranger;
  const FrameBytes packet = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60));
  const auto send_as_it = [&] {
    rig_.first.on_frame(
        0, fake::frame_of(kToAll, stranger.mac(), kEtherTypeIpv4, fake::ipv4_packet(60)));
    EXPECT_TRUE(rig_.run());
    return rig_.second_vms.take().size();
  };
  ASSERT_EQ(hear(to_group(stranger), packet).size(), 1u);
  EXPECT_EQ(send_as_it(), 0u);
  EXPECT_EQ(count("taken_macs"), 1u);
  EXPECT_EQ(hear(to_group(stranger), packet).size(), 1u) << "it is not hidden";
  ASSERT_TRUE(rig_.advance(2 * OwnAddresses::kIdle));
  EXPECT_EQ(send_as_it(), 0u) << "nor after a silence";
  EXPECT_EQ(hear(to_group(stranger), packet).size(), 1u);
  EXPECT_EQ(rig_.first.addresses(), 0u);
  rig_.net.clock.now += RemoteNodes::kLife;
  EXPECT_EQ(send_as_it(), 1u) << "there is no such node any more";
  EXPECT_EQ(count("taken_macs"), 2u);
}

TEST_F(UplinkTest, AMacIsAnothersInItsVlanAlone) {
  const Stranger stranger;
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  const FrameBytes packet = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60));
  ASSERT_EQ(hear(to_group(stranger, 0x8005), packet).size(), 1u);
  rig_.first.on_frame(
      0, fake::frame_of(kToAll, stranger.mac(), kEtherTypeIpv4, fake::ipv4_packet(60)));
  EXPECT_EQ(count("taken_macs"), 0u);
  rig_.first.on_frame(
      5, fake::frame_of(kToAll, stranger.mac(), kEtherTypeIpv4, fake::ipv4_packet(60)));
  EXPECT_EQ(count("taken_macs"), 1u);
}

}  // namespace
}  // namespace paravane::ipoib
