#include "ipoib/uplink_test.h"
#include "testing/port_orders.h"

namespace paravane::ipoib {
namespace {

TEST_F(UplinkTest, VlansAreKeptApart) {
  make_partitions({kKeyOfAll, 0x8005, 0x8006});
  add(5);
  add(6);
  const MacBytes in_5 = there_seen(5);
  const MacBytes in_6 = there_seen(6);
  EXPECT_NE(in_5, in_6) << "one VM, of two VLANs";
  rig_.first.on_frame(5, ipv4_frame(in_5));
  ASSERT_TRUE(rig_.run());
  auto heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].vlan, 5);
  // The queue pair of another VLAN does not let its packets in.
  rig_.first.on_frame(5, ipv4_frame(in_6));
  rig_.first.on_frame(0, ipv4_frame(in_5));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.second_vms.take().empty());
  rig_.first.on_frame(6, ipv4_frame(kToAll));
  ASSERT_TRUE(rig_.run());
  heard = rig_.second_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].vlan, 6);
  rig_.first.on_frame(7, ipv4_frame(kToAll));
  EXPECT_EQ(count("no_partition"), 1u);
}

TEST_F(UplinkTest, ALimitedMemberReachesFullMembersAlone) {
  rig_.administration.make_group(0x8005);
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, {kKeyOfAll, 0x0005}));
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kSecondPort, {kKeyOfAll, 0x8005}));
  add(5);
  EXPECT_EQ(reached(there_seen(5), 5), 1u);
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kSecondPort, {kKeyOfAll, 0x0005}));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(reached(kToAll, 5), 0u);
}

TEST_F(UplinkTest, AMacOfAnotherVlanIsNotShown) {
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  const std::uint32_t in_0 = own_number(0);
  const std::uint32_t in_5 = own_number(5);
  const Stranger stranger;
  InfinibandArp arp{.operation = ArpOperation::kRequest, .sender = stranger.address()};
  const auto target_shown = [&](std::uint32_t number) {
    arp.target = {.number = Be24(number), .gid = fake::gid_of_port(UplinkRig::kFirstPort)};
    const auto heard = hear(to_group(stranger), encapsulated(kEtherTypeArp, infiniband_arp(arp)));
    EXPECT_EQ(heard.size(), 1u);
    const auto read = heard.empty() ? std::unexpected(ArpRefusal::kShort)
                                    : read_ethernet_arp(heard[0].frame().payload);
    return read ? read->target : kToAll;
  };
  EXPECT_EQ(target_shown(in_0), kHere);
  EXPECT_EQ(target_shown(in_5), MacBytes{});
  EXPECT_EQ(target_shown(in_0 + 100), MacBytes{});
}

TEST_F(UplinkTest, ARemovedVlanHearsAndSendsNothing) {
  const MacBytes there = there_seen();
  EXPECT_EQ(rig_.first.addresses(), 1u);
  rig_.first.remove_vlan(0);
  rig_.first.remove_vlan(9);
  EXPECT_EQ(rig_.first.addresses(), 0u);
  EXPECT_TRUE(rig_.first.memberships().empty());
  ASSERT_TRUE(rig_.run());
  EXPECT_FALSE(rig_.administration.is_member(kKeyOfAll, UplinkRig::kFirstPort));
  EXPECT_EQ(reached(there), 0u);
  rig_.second.on_frame(0, fake::frame_of(kToAll, kThere, kEtherTypeIpv4, fake::ipv4_packet(60)));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.first_vms.take().empty());
  add(0);
  EXPECT_EQ(reached(there), 1u);
}

// Administration knows a port as a member, not for whom: the group must outlast the first that
// goes.
TEST_F(UplinkTest, APartitionOfTwoStaysWhileOneIsInIt) {
  make_partitions({0x8005, kKeyOfAll});
  add(5);
  const auto is_member = [&] {
    EXPECT_TRUE(rig_.run());
    return rig_.administration.is_member(0x8005, UplinkRig::kFirstPort);
  };
  ASSERT_TRUE(is_member());
  rig_.first.remove_vlan(5);
  EXPECT_TRUE(is_member()) << "untagged frames are in it";
  EXPECT_NE(reached(kToAll), 0u);
  add(5);
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, {kKeyOfAll, 0x8005}));
  EXPECT_TRUE(is_member()) << "the VLAN is in it, untagged frames no longer";
  rig_.first.remove_vlan(5);
  EXPECT_FALSE(is_member());
}

TEST_F(UplinkTest, FramesThatWaitForAPathEndWithTheirVlan) {
  const MacBytes far = Stranger{}.mac();
  rig_.administration.add_node(Stranger{}.lid, Stranger{}.gid);
  rig_.first.on_frame(0, ipv4_frame(far));
  rig_.first.remove_vlan(0);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(count("no_partition"), 1u);
  EXPECT_EQ(count("frames_sent"), 0u);
}

TEST_F(UplinkTest, AnotherVlanDoesNotDisturb) {
  const MacBytes there = there_reached();
  rig_.administration.forget_asked();
  rig_.administration.to_paths().is_silent = true;
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  add(7);
  EXPECT_EQ(reached(there), 1u) << "the path is still known";
  EXPECT_EQ(count("no_path"), 0u);
}

TEST_F(UplinkTest, PartitionsAreBounded) {
  for (std::uint16_t vlan = 1; vlan < Uplink::kMostPartitions; ++vlan)
    ASSERT_TRUE(rig_.first.add_vlan(vlan));
  EXPECT_FALSE(rig_.first.add_vlan(200));
  EXPECT_TRUE(rig_.first.add_vlan(5)) << "it is there";
  EXPECT_EQ(rig_.first.memberships().size(), Uplink::kMostPartitions);
  rig_.first.remove_vlan(5);
  EXPECT_TRUE(rig_.first.add_vlan(200));
}

// ---- The subnet changes ----

TEST_F(UplinkTest, AfterAForgetfulManagerAllJoinAgainAndTrafficGoesOn) {
  const MacBytes there = there_reached();
  rig_.administration.to_paths().is_silent = true;
  rig_.administration.want_registrations();
  EXPECT_FALSE(rig_.administration.is_member(kKeyOfAll, UplinkRig::kFirstPort));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(rig_.administration.is_member(kKeyOfAll, UplinkRig::kFirstPort));
  EXPECT_TRUE(rig_.administration.is_member(kKeyOfAll, UplinkRig::kSecondPort));
  EXPECT_EQ(reached(there), 1u) << "by the path that was known";
  EXPECT_EQ(reached(kToAll), 1u);
  EXPECT_EQ(count("no_partition"), 0u);
}

TEST_F(UplinkTest, WithoutAManagerTrafficGoesOn) {
  const MacBytes there = there_reached();
  rig_.administration.to_members().is_silent = true;
  rig_.administration.to_paths().is_silent = true;
  for (unsigned minute = 0; minute < 15; ++minute) {
    ASSERT_TRUE(rig_.advance(std::chrono::minutes(1)));
    ASSERT_EQ(reached(there), 1u) << minute;
    ASSERT_EQ(reached(kToAll), 1u) << minute;
  }
}

TEST_F(UplinkTest, ALinkThatGoesAndComesIsFollowed) {
  const MacBytes there = there_reached();
  rig_.net.first.port(1)->link_down();
  EXPECT_EQ(reached(there), 0u);
  EXPECT_EQ(count("not_sent"), 1u) << "before it is told";
  EXPECT_EQ(reached(there), 0u);
  EXPECT_EQ(count("no_partition"), 1u);
  rig_.net.first.port(1)->link_up(subnet::Speed::kQuad);
  rig_.net.manager.sweep();
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(reached(kToAll), 1u);
  EXPECT_EQ(there_seen(), there) << "queue pairs stay";
  EXPECT_EQ(reached(there), 1u);
}

TEST_F(UplinkTest, AnotherLidJoinsAndAsksForPathsAnew) {
  const MacBytes here = here_seen();
  const auto send = [&] {
    rig_.second.on_frame(0, fake::frame_of(here, kThere, kEtherTypeIpv4, fake::ipv4_packet(60)));
    EXPECT_TRUE(rig_.run());
    return rig_.first_vms.take();
  };
  const auto before = send();
  ASSERT_EQ(before.size(), 1u);
  rig_.administration.forget_asked();
  route(0x40, 2);
  ASSERT_TRUE(fake::set_port_identity(*rig_.net.second.port(1), 0x40, rig_.net.first_lid()));
  ASSERT_TRUE(rig_.run());
  namespace attribute = wire::infiniband::attribute;
  namespace method = wire::infiniband::method;
  EXPECT_EQ(rig_.administration.asked_for(method::kSet, attribute::kMulticastMemberRecord), 3u)
      << "the groups of all";
  EXPECT_EQ(rig_.administration.asked_for(method::kGet, attribute::kPathRecord), 0u);
  const auto after = send();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(rig_.administration.asked_for(method::kGet, attribute::kPathRecord), 1u);
  EXPECT_EQ(remote_queue_pair(after[0].frame().source)->lid, 0x40);
  EXPECT_EQ(remote_queue_pair(after[0].frame().source)->number,
            remote_queue_pair(before[0].frame().source)->number);
}

TEST_F(UplinkTest, APartitionThatGoesAndComesIsFollowed) {
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  const MacBytes there = there_seen(5);
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, {kKeyOfAll}));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(reached(there, 5), 0u);
  EXPECT_EQ(count("no_partition"), 1u);
  // The VM's queue pair is still there, and hears nothing.
  const Stranger stranger;
  DatagramHeaders headers = to_pair(stranger, remote_queue_pair(there)->number);
  headers.partition = 0x8005;
  headers.qkey = 0x8005;
  EXPECT_TRUE(hear(headers, encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60))).empty());
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, {kKeyOfAll, 0x8005}));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(reached(there, 5), 1u);
}

TEST_F(UplinkTest, AnotherQkeyOfTheGroupIsUsed) {
  const MacBytes there = there_reached();
  rig_.administration.make_group(kKeyOfAll, {.qkey = 0x4321});
  rig_.administration.want_registrations();
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(reached(there), 1u);
  EXPECT_EQ(reached(kToAll), 1u);
  const Stranger stranger;
  EXPECT_TRUE(hear(to_group(stranger), encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60))).empty())
      << "with the Q_Key of before";
}

TEST_F(UplinkTest, WithoutAQueuePairTheGroupIsHeardLater) {
  class NoReceiver final : public subnet::DatagramReceiver {
    void on_datagram(std::uint32_t /*queue_pair*/, const Datagram& /*packet*/) override {}
  } none;
  make_partitions({kKeyOfAll, 0x8005});
  subnet::QueuePairs& pairs = rig_.net.first.queue_pairs(1);
  std::vector<std::uint32_t> others;
  while (const auto made = pairs.make({}, none)) others.push_back(*made);
  add(5);
  const Stranger stranger;
  const FrameBytes packet = encapsulated(kEtherTypeIpv4, fake::ipv4_packet(60));
  EXPECT_TRUE(hear(to_group(stranger, 0x8005), packet).empty());
  EXPECT_EQ(count("no_address_room"), 1u);
  for (const std::uint32_t other : others) pairs.destroy(other);
  ASSERT_TRUE(rig_.advance(seconds(1)));
  EXPECT_EQ(hear(to_group(stranger, 0x8005), packet).size(), 1u);
  ASSERT_TRUE(rig_.advance(seconds(60)));
  EXPECT_EQ(hear(to_group(stranger, 0x8005), packet).size(), 1u) << "once";
}

TEST_F(UplinkTest, AnUplinkThatEndsLeavesNothing) {
  subnet::QueuePairs& pairs = rig_.net.first.queue_pairs(1);
  fake::RecordingFrameSink sink;
  class NoReceiver final : public subnet::DatagramReceiver {
    void on_datagram(std::uint32_t /*queue_pair*/, const Datagram& /*packet*/) override {}
  } none;
  rig_.first.remove_vlan(0);
  {
    Uplink uplink(rig_.net.first, 1, rig_.net.clock, sink);
    ASSERT_TRUE(uplink.add_vlan(0));
    uplink.on_time(rig_.net.clock.now);
    ASSERT_TRUE(rig_.run());
    uplink.on_frame(0, ipv4_frame(kToAll));
    uplink.on_frame(0, ipv4_frame(Stranger{}.mac()));
    EXPECT_TRUE(pairs.listens_to(rig_.administration.lid_of(kKeyOfAll)));
  }
  ASSERT_TRUE(rig_.advance(seconds(5)));
  EXPECT_FALSE(pairs.listens_to(rig_.administration.lid_of(kKeyOfAll)));
  EXPECT_FALSE(rig_.administration.is_member(kKeyOfAll, UplinkRig::kFirstPort));
  std::size_t made = 0;
  while (pairs.make({}, none)) ++made;
  EXPECT_EQ(made, subnet::QueuePairs::kMost);
  rig_.net.first.port(1)->link_down();
}

}  // namespace
}  // namespace paravane::ipoib
