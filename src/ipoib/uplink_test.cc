#include "ipoib/uplink_test.h"

namespace paravane::ipoib {
namespace {

TEST_F(UplinkTest, AVmIsFoundByArpAndTalkedTo) {
  rig_.first.on_frame(0, fake::arp_frame(kToAll, request()));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.first_vms.take().empty()) << "its own broadcast";
  auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].vlan, 0);
  const EthernetFrame asked = heard[0].frame();
  EXPECT_EQ(asked.destination, kToAll);
  EXPECT_EQ(asked.type, kEtherTypeArp);
  const auto asked_arp = read_ethernet_arp(asked.payload);
  ASSERT_TRUE(asked_arp);
  EXPECT_EQ(asked_arp->operation, ArpOperation::kRequest);
  EXPECT_EQ(asked_arp->sender, asked.source);
  EXPECT_EQ(asked_arp->sender_ipv4, kIpHere);
  EXPECT_EQ(asked_arp->target, MacBytes{});
  EXPECT_EQ(asked_arp->target_ipv4, kIpThere);
  const auto remote = remote_queue_pair(asked.source);
  ASSERT_TRUE(remote);
  EXPECT_EQ(remote->lid, rig_.net.first_lid());

  rig_.second.on_frame(0, fake::arp_frame(asked.source, {.operation = ArpOperation::kReply,
                                                         .sender = kThere,
                                                         .sender_ipv4 = kIpThere,
                                                         .target = asked.source,
                                                         .target_ipv4 = kIpHere}));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.second_vms.take().empty());
  heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  const EthernetFrame answered = heard[0].frame();
  EXPECT_EQ(answered.destination, kHere);
  const auto answer = read_ethernet_arp(answered.payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->operation, ArpOperation::kReply);
  EXPECT_EQ(answer->sender, answered.source);
  EXPECT_EQ(answer->sender_ipv4, kIpThere);
  EXPECT_EQ(answer->target, kHere);
  EXPECT_EQ(answer->target_ipv4, kIpHere);
}

TEST_F(UplinkTest, ArpHasAddressesOfInfinibandInTheSubnet) {
  rig_.administration.make_group(
      kKeyOfAll,
      {.qkey = 0x1234, .level = 3, .traffic_class = 0x28, .flow_label = 0xABCDE, .hop_limit = 9});
  rig_.administration.want_registrations();
  ASSERT_TRUE(rig_.run());
  const std::uint32_t number = own_number();
  record();
  rig_.first.on_frame(0, fake::arp_frame(kToAll, request()));
  ASSERT_EQ(wire_.sent.size(), 1u);
  const Datagram sent = read(wire_.sent[0]);
  const wire::infiniband::Gid gid = fake::gid_of_port(UplinkRig::kFirstPort);
  const DatagramHeaders expected{
      .source = rig_.net.first_lid(),
      .destination = rig_.administration.lid_of(kKeyOfAll),
      .service_level = 3,
      .global =
          wire::infiniband::GlobalRoute{.source = gid,
                                        .destination = wire::infiniband::broadcast_gid(kKeyOfAll),
                                        .flow_label = 0xABCDE,
                                        .traffic_class = 0x28,
                                        .hop_limit = 9},
      .partition = kKeyOfAll,
      .qkey = 0x1234,
      .source_qp = number,
      .destination_qp = wire::infiniband::kMulticastQueuePair};
  EXPECT_EQ(sent.headers, expected);
  ASSERT_EQ(sent.payload.size(), 4u + kInfinibandArpBytes);
  EXPECT_EQ(sent.payload[0], std::byte{0x08});
  EXPECT_EQ(sent.payload[1], std::byte{0x06});
  EXPECT_EQ(sent.payload[2], std::byte{0});
  EXPECT_EQ(sent.payload[3], std::byte{0});
  const auto arp = read_infiniband_arp(sent.payload.subspan(4));
  ASSERT_TRUE(arp);
  EXPECT_EQ(arp->sender, (IpoibAddress{.number = Be24(number), .gid = gid}));
  EXPECT_EQ(arp->target, IpoibAddress{});
}

TEST_F(UplinkTest, AnArpToOneNodeGoesToItAlone) {
  // RFC 4391 lets an ARP request be sent to one node: so Linux asks whether a neighbour is there.
  rig_.administration.use_path_level(5);
  const MacBytes there = there_seen();
  EthernetArp probe = request();
  probe.target = there;
  rig_.first.on_frame(0, fake::arp_frame(there, probe));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].frame().destination, kThere);
  const auto asked = read_ethernet_arp(heard[0].frame().payload);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->operation, ArpOperation::kRequest);
  EXPECT_EQ(asked->sender, heard[0].frame().source);
  EXPECT_EQ(asked->target, kThere);

  record();
  rig_.first.on_frame(0, fake::arp_frame(there, probe));
  ASSERT_EQ(wire_.sent.size(), 1u);
  const Datagram sent = read(wire_.sent[0]);
  const RemoteQueuePair remote = *remote_queue_pair(there);
  EXPECT_EQ(sent.headers.destination, rig_.net.second_lid());
  EXPECT_EQ(sent.headers.destination_qp, remote.number);
  EXPECT_EQ(sent.headers.service_level, 5);
  EXPECT_FALSE(sent.headers.global);
  const auto arp = read_infiniband_arp(sent.payload.subspan(4));
  ASSERT_TRUE(arp);
  EXPECT_EQ(arp->target, (IpoibAddress{.number = Be24(remote.number),
                                       .gid = fake::gid_of_port(UplinkRig::kSecondPort)}));
}

TEST_F(UplinkTest, Ipv4PassesByteByByteInBothDirections) {
  const MacBytes there = there_seen();
  const MacBytes here = here_seen();
  for (std::size_t bytes = 20; bytes <= 2044;
       bytes = bytes < 64 || bytes > 2030 ? bytes + 1 : bytes + 61) {
    const FrameBytes packet = fake::ipv4_packet(bytes);
    rig_.first.on_frame(0, fake::frame_of(there, kHere, kEtherTypeIpv4, packet, false));
    rig_.second.on_frame(0, fake::frame_of(here, kThere, kEtherTypeIpv4, packet, false));
    ASSERT_TRUE(rig_.run());
    const auto over = rig_.second_vms.take();
    const auto back = rig_.first_vms.take();
    ASSERT_EQ(over.size(), 1u) << bytes;
    ASSERT_EQ(back.size(), 1u) << bytes;
    EXPECT_EQ(over[0].bytes, fake::frame_of(kThere, here, kEtherTypeIpv4, packet, false));
    EXPECT_EQ(back[0].bytes, fake::frame_of(kHere, there, kEtherTypeIpv4, packet, false));
  }
  EXPECT_EQ(count("too_big"), 0u);
  EXPECT_EQ(count("bad_packets"), 0u);
}

TEST_F(UplinkTest, ReverseArpPasses) {
  EthernetArp asked = request();
  asked.operation = ArpOperation::kReverseRequest;
  rig_.first.on_frame(0, fake::arp_frame(kToAll, asked));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].frame().type, wire::infiniband::kEtherTypeRarp);
  const auto arp = read_ethernet_arp(heard[0].frame().payload);
  ASSERT_TRUE(arp);
  EXPECT_EQ(arp->operation, ArpOperation::kReverseRequest);
  EXPECT_EQ(arp->sender, heard[0].frame().source);
}

TEST_F(UplinkTest, FramesThatWaitForAPathGoInTheirOrder) {
  const MacBytes there = there_seen();
  rig_.administration.to_paths().is_silent = true;
  rig_.net.first.port(1)->link_down();
  rig_.net.first.port(1)->link_up(subnet::Speed::kQuad);
  rig_.net.manager.sweep();
  ASSERT_TRUE(rig_.run());
  rig_.administration.to_paths().is_silent = false;
  for (std::size_t bytes = 50; bytes < 60; ++bytes)
    rig_.first.on_frame(0, ipv4_frame(there, bytes));
  EXPECT_TRUE(rig_.second_vms.frames.empty());
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 10u);
  for (std::size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i].bytes.size(), 14 + 50 + i);
  EXPECT_EQ(count("frames_sent"), 1 + 10u);
}

TEST_F(UplinkTest, GroupsOfIpArriveAtTheirMacs) {
  const auto arrive = [this](const FrameBytes& frame) {
    rig_.first.on_frame(0, frame);
    EXPECT_TRUE(rig_.run());
    const auto heard = rig_.second_vms.take();
    EXPECT_EQ(heard.size(), 1u);
    return heard.empty() ? MacBytes{} : heard[0].frame().destination;
  };
  const MacBytes group{0x01, 0x00, 0x5E, 0x7F, 2, 3};
  EXPECT_EQ(arrive(fake::frame_of(group, kHere, kEtherTypeIpv4,
                                  fake::ipv4_packet(60, {.to = {239, 255, 2, 3}}))),
            group);
  EXPECT_EQ(arrive(fake::frame_of(kToAll, kHere, kEtherTypeIpv4,
                                  fake::ipv4_packet(60, {.to = {255, 255, 255, 255}}))),
            kToAll);
  const MacBytes group6{0x33, 0x33, 4, 5, 6, 7};
  const Ipv6Address to{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 5, 6, 7};
  EXPECT_EQ(arrive(fake::frame_of(group6, kHere, kEtherTypeIpv6,
                                  fake::ipv6_packet({0xFE, 0x80}, to, 17, 1, FrameBytes(20)))),
            group6);
}

TEST_F(UplinkTest, NeighboursOfIpv6FindEachOther) {
  const Ipv6Address here{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const Ipv6Address there{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  const Ipv6Address asked{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, 2};
  const MacBytes asked_mac{0x33, 0x33, 0xFF, 0, 0, 2};
  rig_.first.on_frame(0, fake::frame_of(asked_mac, kHere, kEtherTypeIpv6,
                                        fake::neighbour_packet(135, here, asked, there, kHere)));
  ASSERT_TRUE(rig_.run());
  auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  const MacBytes here_mac = heard[0].frame().source;
  EXPECT_EQ(heard[0].bytes,
            fake::frame_of(asked_mac, here_mac, kEtherTypeIpv6,
                           fake::neighbour_packet(135, here, asked, there, here_mac)));
  EXPECT_TRUE(remote_queue_pair(here_mac));

  rig_.second.on_frame(0, fake::frame_of(here_mac, kThere, kEtherTypeIpv6,
                                         fake::neighbour_packet(136, there, here, there, kThere)));
  ASSERT_TRUE(rig_.run());
  heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  const MacBytes there_mac = heard[0].frame().source;
  EXPECT_EQ(heard[0].bytes,
            fake::frame_of(kHere, there_mac, kEtherTypeIpv6,
                           fake::neighbour_packet(136, there, here, there, there_mac)));
  const FrameBytes packet = fake::ipv6_packet(here, there, 17, 64, FrameBytes(2004));
  rig_.first.on_frame(0, fake::frame_of(there_mac, kHere, kEtherTypeIpv6, packet));
  ASSERT_TRUE(rig_.run());
  heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].bytes, fake::frame_of(kThere, here_mac, kEtherTypeIpv6, packet));
}

TEST_F(UplinkTest, AnAnswerOfDhcpGoesToAll) {
  FrameBytes packet = fake::ipv4_packet(60, {.to = {10, 0, 0, 9}});
  packet[20] = packet[22] = std::byte{0};
  packet[21] = std::byte{67};
  packet[23] = std::byte{68};
  packet[28] = std::byte{2};
  // The client's own MAC, which is on no wire here.
  rig_.first.on_frame(0, fake::frame_of(kThere, kHere, kEtherTypeIpv4, packet));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].frame().destination, kToAll);
  packet[28] = std::byte{1};
  rig_.first.on_frame(0, fake::frame_of(kThere, kHere, kEtherTypeIpv4, packet));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.second_vms.take().empty());
  EXPECT_EQ(count("unknown_destinations"), 1u);
}

}  // namespace
}  // namespace paravane::ipoib
