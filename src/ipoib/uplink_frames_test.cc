#include "ipoib/checksum.h"
#include "ipoib/too_big.h"
#include "ipoib/uplink_test.h"
#include "testing/port_orders.h"

namespace paravane::ipoib {
namespace {

// ---- Frames that do not go ----

TEST_F(UplinkTest, AFrameReachesNoQueuePairOfManagementAndNoGroup) {
  (void)own_number();
  record();
  const std::uint16_t lid = rig_.net.second_lid();
  const auto mac = [](std::uint32_t number, unsigned at) {
    return MacBytes{0x02,
                    static_cast<std::uint8_t>(number >> 16),
                    static_cast<std::uint8_t>(number >> 8),
                    static_cast<std::uint8_t>(number),
                    static_cast<std::uint8_t>(at >> 8),
                    static_cast<std::uint8_t>(at)};
  };
  std::uint64_t frames = 0;
  for (const MacBytes& to : {mac(0, lid), mac(1, lid), mac(0xFF'FFFF, lid), mac(0x50'5601, lid),
                             mac(0x40, 0), mac(0x40, 0xC000), mac(0x40, 0xFFFF)}) {
    rig_.first.on_frame(0, ipv4_frame(to));
    EthernetArp arp = request();
    arp.target = to;
    rig_.first.on_frame(0, fake::arp_frame(to, arp));
    frames += 2;
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(count("unknown_destinations"), frames);
  EXPECT_TRUE(wire_.sent.empty());
  EXPECT_EQ(rig_.administration.asked_for(wire::infiniband::method::kGet,
                                          wire::infiniband::attribute::kPathRecord),
            0u);
}

TEST_F(UplinkTest, AFrameToThePortItselfStaysAway) {
  const std::uint32_t number = own_number();
  rig_.administration.forget_asked();
  rig_.first.on_frame(0, ipv4_frame(*remote_mac({.number = number, .lid = rig_.net.first_lid()})));
  rig_.first.on_frame(0, ipv4_frame(*remote_mac({.number = 0x999, .lid = rig_.net.first_lid()})));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(count("own_loops"), 1 + 1u) << "and its own broadcast";
  EXPECT_TRUE(rig_.administration.asked().empty());
  EXPECT_TRUE(rig_.first_vms.frames.empty());
}

TEST_F(UplinkTest, AMacOfAVmHereIsNotSentAway) {
  const MacBytes odd{0x02, 0, 0, 0x77, 0, 0x55};  // such as an operator may choose
  rig_.first.on_frame(0, fake::frame_of(kToAll, odd, kEtherTypeIpv4, fake::ipv4_packet(60)));
  ASSERT_TRUE(rig_.run());
  rig_.administration.forget_asked();
  record();
  rig_.first.on_frame(0, ipv4_frame(odd));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(count("unknown_destinations"), 1u);
  EXPECT_TRUE(wire_.sent.empty());
  EXPECT_TRUE(rig_.administration.asked().empty());
}

TEST_F(UplinkTest, AFrameThatComesInACircleIsDropped) {
  const MacBytes here = here_seen();
  // Out of the second uplink, over the switch and into the first.
  rig_.first.on_frame(0, fake::frame_of(kToAll, here, kEtherTypeIpv4, fake::ipv4_packet(60)));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.second_vms.take().empty());
  EXPECT_EQ(count("own_loops"), 1 + 1u);
  EXPECT_EQ(rig_.first.addresses(), 1u);
}

TEST_F(UplinkTest, OtherProtocolsAreDroppedAndGetNoQueuePair) {
  for (const unsigned type : {0x88CCu, 0x0027u, 0x8847u, 0x8863u})
    rig_.first.on_frame(
        0, fake::frame_of(kToAll, kHere, static_cast<std::uint16_t>(type), FrameBytes(60)));
  EXPECT_EQ(count("other_protocols"), 4u);
  EXPECT_EQ(rig_.first.addresses(), 0u);
}

TEST_F(UplinkTest, BadFramesAreCounted) {
  rig_.first.on_frame(0, FrameBytes(13));
  rig_.first.on_frame(0, {});
  rig_.first.on_frame(0, fake::frame_of(kToAll, kToAll, kEtherTypeIpv4, FrameBytes(60)));
  FrameBytes tagged;
  write_frame({.destination = kToAll,
               .source = kHere,
               .vlan = Vlan{.number = 5},
               .type = kEtherTypeIpv4,
               .payload = {}},
              tagged);
  rig_.first.on_frame(0, tagged);
  EXPECT_EQ(count("bad_frames"), 4u);
  FrameBytes arp = fake::arp_frame(kToAll, request());
  arp[14 + 8] ^= std::byte{2};  // of another sender
  rig_.first.on_frame(0, arp);
  arp[14] = std::byte{7};
  rig_.first.on_frame(0, arp);
  EXPECT_EQ(count("bad_arp"), 2u);
  FrameBytes neighbour = fake::neighbour_packet(135, {0xFE, 0x80}, {0xFF, 2}, {0xFE}, kThere);
  rig_.first.on_frame(0, fake::frame_of(kToAll, kHere, kEtherTypeIpv6, neighbour));
  EXPECT_EQ(count("bad_neighbours"), 1u) << "another's MAC";
  neighbour.resize(44);
  rig_.first.on_frame(0, fake::frame_of(kToAll, kHere, kEtherTypeIpv6, neighbour));
  EXPECT_EQ(count("bad_neighbours"), 2u) << "short";
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.second_vms.frames.empty());
  EXPECT_EQ(count("frames_sent"), 0u);
}

TEST_F(UplinkTest, AddressesAreBounded) {
  MacBytes mac = kHere;
  const auto send = [&](unsigned i) {
    mac[4] = static_cast<std::uint8_t>(i >> 8);
    mac[5] = static_cast<std::uint8_t>(i);
    rig_.first.on_frame(0, fake::frame_of(kToAll, mac, kEtherTypeIpv4, fake::ipv4_packet(60)));
  };
  const Stranger stranger;
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i) {
    send(i);
    ASSERT_TRUE(rig_.run());
    const auto heard = rig_.second_vms.take();
    ASSERT_EQ(heard.size(), 1u);
    const std::uint32_t number = remote_queue_pair(heard[0].frame().source)->number;
    ASSERT_EQ(
        hear(to_pair(stranger, number), encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60))).size(),
        1u);
  }
  send(OwnAddresses::kMost);
  EXPECT_EQ(rig_.first.addresses(), OwnAddresses::kMost);
  EXPECT_EQ(count("no_address_room"), 1u);
  EXPECT_EQ(count("frames_sent"), OwnAddresses::kMost);
}

TEST_F(UplinkTest, AFloodOfAddressesLeavesAVmThatTalks) {
  const MacBytes there = there_reached();
  const MacBytes here = here_seen();
  MacBytes mac = kHere;
  for (unsigned i = 0x100; i < 0x500; ++i) {
    mac[4] = static_cast<std::uint8_t>(i >> 8);
    mac[5] = static_cast<std::uint8_t>(i);
    rig_.first.on_frame(0, fake::frame_of(kToAll, mac, kEtherTypeIpv4, fake::ipv4_packet(60)));
    if (i % 64 == 0) {
      ASSERT_TRUE(rig_.run());
    }
  }
  ASSERT_TRUE(rig_.run());
  rig_.second_vms.take();
  EXPECT_EQ(rig_.first.addresses(), OwnAddresses::kMost);
  EXPECT_EQ(count("no_address_room"), 0u);
  rig_.second.on_frame(0, fake::frame_of(here, kThere, kEtherTypeIpv4, fake::ipv4_packet(60)));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].frame().destination, kHere);
  EXPECT_EQ(reached(there), 1u);
}

TEST_F(UplinkTest, PathsToNodesThatWereHeardAreAskedForInAFlood) {
  const MacBytes there = there_seen();
  rig_.administration.to_paths().is_silent = true;
  for (std::uint16_t lid = 0x200; lid < 0x300; ++lid)
    rig_.first.on_frame(0, ipv4_frame(*remote_mac({.number = 0x40, .lid = lid})));
  EXPECT_EQ(rig_.first.paths().open_questions(), Paths::kMostAskedOfUnheard);
  rig_.first.on_frame(0, ipv4_frame(there));
  EXPECT_EQ(rig_.first.paths().open_questions(), Paths::kMostAskedOfUnheard + 1);
}

TEST_F(UplinkTest, PathsThatAreNotThereAreCounted) {
  const MacBytes far = Stranger{}.mac();
  for (unsigned i = 0; i < Paths::kMostWaiting + 2; ++i) rig_.first.on_frame(0, ipv4_frame(far));
  EXPECT_EQ(count("no_path_room"), 2u);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(count("no_path"), Paths::kMostWaiting);
  rig_.first.on_frame(0, ipv4_frame(far));
  EXPECT_EQ(count("no_path"), Paths::kMostWaiting + 1);
  EXPECT_EQ(count("frames_sent"), 0u);
  rig_.administration.add_node(Stranger{}.lid, Stranger{}.gid);
  ASSERT_TRUE(rig_.advance(Paths::kPause));
  rig_.first.on_frame(0, ipv4_frame(far));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(count("frames_sent"), 1u);
}

// ---- LIDs ----

TEST_F(UplinkTest, FramesGoFromTheLidOfTheirPath) {
  const MacBytes here = here_seen();
  subnet::Port& port = *rig_.net.second.port(1);
  const std::uint16_t before = port.lid();
  wire::infiniband::PortInfo info = fake::wish_at(port);
  info.lid.set(0x40);
  info.protection_lmc = 1;
  ASSERT_EQ(port.set_info(info), 0);
  route(0x40, 2);
  rig_.administration.use_path_bits(static_cast<std::uint8_t>(0x41 - before));
  ASSERT_TRUE(rig_.run());
  rig_.second.on_frame(0, fake::frame_of(here, kThere, kEtherTypeIpv4, fake::ipv4_packet(60)));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(remote_queue_pair(heard[0].frame().source)->lid, 0x41);
}

// ---- Sizes ----

TEST_F(UplinkTest, ATooBigPacketIsAnsweredWithThePartitionsMtu) {
  const MacBytes there = there_reached();
  rig_.first.on_frame(0, ipv4_frame(there, 2045));
  auto heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].vlan, 0);
  EXPECT_EQ(heard[0].bytes,
            fake::frame_of(kHere, there, kEtherTypeIpv4,
                           *fragmentation_needed(fake::ipv4_packet(2045), 2044), false));
  const FrameBytes big = fake::ipv6_packet({0x20, 1}, {0x20, 2}, 17, 64, FrameBytes(2005));
  rig_.first.on_frame(0, fake::frame_of(there, kHere, kEtherTypeIpv6, big));
  heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].bytes,
            fake::frame_of(kHere, there, kEtherTypeIpv6, *packet_too_big(big, 2044), false));
  rig_.first.on_frame(0, fake::frame_of(there, kHere, kEtherTypeIpv4,
                                        fake::ipv4_packet(3000, {.may_be_fragmented = true})));
  rig_.first.on_frame(0, ipv4_frame(kToAll, 2045));
  EXPECT_TRUE(rig_.first_vms.take().empty()) << "of these no one is told";
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.second_vms.take().empty());
  EXPECT_EQ(count("too_big"), 4u);
}

TEST_F(UplinkTest, TheMtuOfThePathHoldsToo) {
  const MacBytes there = there_seen();
  rig_.administration.use_path_mtu(Mtu::k1024);
  rig_.administration.want_registrations();
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(reached(there), 1u);
  rig_.first.on_frame(0, ipv4_frame(there, 1021));
  const auto heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].bytes,
            fake::frame_of(kHere, there, kEtherTypeIpv4,
                           *fragmentation_needed(fake::ipv4_packet(1021), 1020), false));
  rig_.first.on_frame(0, ipv4_frame(there, 1020));
  rig_.first.on_frame(0, ipv4_frame(kToAll, 2044));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.second_vms.take().size(), 2u);
}

TEST_F(UplinkTest, DiscoveryThatGrowsAboveThePathsMtuIsDropped) {
  const MacBytes there = there_seen();
  rig_.administration.use_path_mtu(Mtu::k256);
  rig_.administration.want_registrations();
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(reached(there), 1u);
  // 72 bytes and options that are none of a link's address: 168, then 248.
  const auto advertisement = [](std::size_t more) {
    const Ipv6Address from{0xFE, 0x80, 1};
    const Ipv6Address to{0xFE, 0x80, 2};
    FrameBytes packet = fake::neighbour_packet(136, from, to, from, kHere);
    FrameBytes message(packet.begin() + 40, packet.end());
    message.resize(message.size() + more);
    message[32] = std::byte{200};
    message[33] = static_cast<std::byte>(more / 8);
    message[2] = message[3] = std::byte{0};
    const Be16 checksum(icmpv6_checksum(from, to, message));
    std::memcpy(&message[2], &checksum, sizeof checksum);
    return fake::ipv6_packet(from, to, 58, 255, message);
  };
  const auto sends = [&](std::size_t more) {
    rig_.first.on_frame(0, fake::frame_of(there, kHere, kEtherTypeIpv6, advertisement(more)));
    EXPECT_TRUE(rig_.run());
    return rig_.second_vms.take().size();
  };
  EXPECT_EQ(sends(160), 1u) << "232 bytes, and 248";
  EXPECT_EQ(sends(176), 0u) << "248 bytes, and 264";
  EXPECT_EQ(count("bad_neighbours"), 1u);
}

}  // namespace
}  // namespace paravane::ipoib
