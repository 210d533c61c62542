#include <string>

#include "ipoib/group_query.h"
#include "ipoib/packet_test.h"
#include "ipoib/uplink_test.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Gid;
using wire::infiniband::Ipv4Address;

constexpr Ipv4Address kReported{239, 1, 2, 3};
constexpr MacBytes kReportedMac{0x01, 0x00, 0x5E, 1, 2, 3};
constexpr MacBytes kRoutersMac{0x01, 0x00, 0x5E, 0, 0, 22};
constexpr std::string_view kSolicited = "ff0200000000000000000001ff345678";
constexpr MacBytes kSolicitedMac{0x33, 0x33, 0xFF, 0x34, 0x56, 0x78};

Gid gid_in(const IpGroup& group, std::uint16_t partition = kKeyOfAll) {
  return gid_of(name_of(group), partition);
}
FrameBytes igmp_frame(std::string_view type, const Ipv4Address& group = kReported) {
  Bytes message = bytes_of(std::string(type) + "000000");
  for (const std::uint8_t octet : group) message.push_back(std::byte{octet});
  const Be16 checksum(checksum_of(message));
  std::memcpy(&message[2], &checksum, sizeof checksum);
  return fake::frame_of(
      kRoutersMac, kHere, kEtherTypeIpv4,
      ipv4_packet({.destination = "e0000016", .protocol = ip_protocol::kIgmp, .flags_fragment = 0},
                  message));
}
FrameBytes mld_frame(std::string_view type, std::string_view group = kSolicited) {
  return fake::frame_of(
      {0x33, 0x33, 0, 0, 0, 0x16}, kHere, kEtherTypeIpv6,
      icmpv6_packet({.destination = "ff020000000000000000000000000016", .hop_limit = 1},
                    bytes_of(std::string(type) + "00000000000000" + std::string(group))));
}
constexpr std::string_view kReport = "16";
constexpr std::string_view kLeave = "17";

class UplinkMulticastTest : public UplinkTest {
 protected:
  void here(const FrameBytes& frame, std::uint16_t vlan = 0) {
    rig_.first.on_frame(vlan, frame);
    EXPECT_TRUE(rig_.run());
  }
  void report_here() { here(igmp_frame(kReport)); }
  // From the VM there, to the group; what the VMs here get.
  std::size_t heard_here(const Ipv4Address& group = kReported, std::uint16_t vlan = 0) {
    const auto packet = fake::ipv4_packet(100, {.from = kIpThere, .to = group});
    rig_.second.on_frame(vlan, fake::frame_of(kReportedMac, kThere, kEtherTypeIpv4, packet));
    EXPECT_TRUE(rig_.run());
    return rig_.first_vms.take().size();
  }
  bool is_member(const IpGroup& group = kReported) const {
    return rig_.administration.is_member(gid_in(group), UplinkRig::kFirstPort);
  }
  std::vector<fake::RecordingFrameSink::Delivered> queries() {
    return std::exchange(rig_.first_vms.queries, {});
  }
};

TEST_F(UplinkMulticastTest, EachPartitionsAllHostsAndAllNodesAreJoined) {
  EXPECT_TRUE(is_member(kAllHosts));
  EXPECT_TRUE(is_member(kAllNodes));
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  for (const IpGroup& group : {IpGroup(kAllHosts), IpGroup(kAllNodes)})
    EXPECT_TRUE(rig_.administration.is_member(gid_in(group, 0x8005), UplinkRig::kFirstPort));
  rig_.first.remove_vlan(5);
  ASSERT_TRUE(rig_.run());
  EXPECT_FALSE(rig_.administration.is_member(gid_in(kAllNodes, 0x8005), UplinkRig::kFirstPort));
  EXPECT_TRUE(is_member(kAllNodes));
}

TEST_F(UplinkMulticastTest, AGroupThatAVmReportsIsJoinedAndHeard) {
  EXPECT_FALSE(is_member());
  report_here();
  EXPECT_TRUE(is_member());
  rig_.second_vms.take();
  EXPECT_EQ(heard_here(), 1u) << "by the broadcast group";
  EXPECT_TRUE(rig_.administration.is_sender(gid_in(kReported), UplinkRig::kSecondPort));
  EXPECT_FALSE(rig_.administration.is_member(gid_in(kReported), UplinkRig::kSecondPort));
  rig_.net.second.attach(1, wire_);
  rig_.second.on_frame(0,
                       fake::frame_of(kReportedMac, kThere, kEtherTypeIpv4,
                                      fake::ipv4_packet(100, {.from = kIpThere, .to = kReported})));
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(wire_.sent.size(), 1u);
  const DatagramHeaders headers = read(wire_.sent[0]).headers;
  EXPECT_EQ(headers.destination, rig_.administration.lid_of(gid_in(kReported)));
  ASSERT_TRUE(headers.global);
  EXPECT_EQ(headers.global->destination, gid_in(kReported));
  EXPECT_EQ(headers.destination_qp, wire::infiniband::kMulticastQueuePair);
}

TEST_F(UplinkMulticastTest, PacketsOfTheGroupArriveByIt) {
  report_here();
  heard_here();
  EXPECT_EQ(heard_here(), 1u);
  // Not to the broadcast group, which the first port no longer hears.
  rig_.net.manager.make_group(rig_.administration.lid_of(kKeyOfAll), {});
  EXPECT_EQ(heard_here(), 1u);
  EXPECT_EQ(heard_here({239, 9, 9, 9}), 0u);
}

TEST_F(UplinkMulticastTest, AnUplinkDoesNotHearItself) {
  report_here();
  const auto packet = fake::ipv4_packet(100, {.to = kReported});
  for (unsigned i = 0; i < 3; ++i)
    here(fake::frame_of(kReportedMac, kHere, kEtherTypeIpv4, packet));
  EXPECT_TRUE(rig_.first_vms.take().empty());
}

TEST_F(UplinkMulticastTest, AfterALeaveVmsAreAskedAndTheGroupIsLeft) {
  report_here();
  queries();
  here(igmp_frame(kLeave));
  EXPECT_TRUE(is_member());
  const auto asked = queries();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].frame().destination, kReportedMac);
  EXPECT_TRUE(remote_queue_pair(asked[0].frame().source));
  EXPECT_EQ(hex_of(asked[0].frame().payload), hex_of(igmp_query(kReported)));
  ASSERT_TRUE(rig_.advance(seconds(2)));
  EXPECT_FALSE(is_member());
  EXPECT_EQ(rig_.administration.lid_of(gid_in(kReported)), 0);
  EXPECT_EQ(heard_here(), 1u) << "by the broadcast group, as what none has joined";
}

TEST_F(UplinkMulticastTest, AVmThatAnswersKeepsTheGroup) {
  report_here();
  here(igmp_frame(kLeave));
  report_here();
  ASSERT_TRUE(rig_.advance(seconds(10)));
  EXPECT_TRUE(is_member());
}

TEST_F(UplinkMulticastTest, AGroupThatIsNotReportedAgainEndsAfter260Seconds) {
  report_here();
  ASSERT_TRUE(rig_.advance(seconds(200)));
  report_here();
  ASSERT_TRUE(rig_.advance(seconds(200)));
  EXPECT_TRUE(is_member());
  ASSERT_TRUE(rig_.advance(seconds(61)));
  EXPECT_FALSE(is_member());
  EXPECT_TRUE(is_member(kAllHosts)) << "which none reports";
}

TEST_F(UplinkMulticastTest, VmsAreAskedWhenTheirPartitionIsInUseAndEach125Seconds) {
  const auto asked = queries();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(hex_of(asked[0].frame().payload), hex_of(igmp_query(std::nullopt)));
  const auto address = fake::gid_of_port(UplinkRig::kFirstPort);
  EXPECT_EQ(hex_of(asked[1].frame().payload), hex_of(mld_query(address, std::nullopt)));
  EXPECT_EQ(asked[1].frame().destination, (MacBytes{0x33, 0x33, 0, 0, 0, 1}));
  ASSERT_TRUE(rig_.advance(seconds(32)));
  EXPECT_EQ(queries().size(), 2u) << "one may have been lost";
  ASSERT_TRUE(rig_.advance(seconds(1250)));
  EXPECT_EQ(queries().size(), 20u);
}

TEST_F(UplinkMulticastTest, WhereAnotherNodeAsksByMldTheUplinkDoesNot) {
  queries();
  const Bytes query = mld_query(address_of<16>(kNodeIpv6), std::nullopt);
  const auto mlds = [this] {
    const auto all = queries();
    return std::ranges::count_if(
        all, [](const auto& one) { return one.frame().type == kEtherTypeIpv6; });
  };
  const Stranger stranger;
  rig_.net.first.on_packet(
      1, fake::packet_with(to_group(stranger), encapsulated(kEtherTypeIpv6, query)));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(mlds(), 1) << "VMs get the other's";
  ASSERT_TRUE(rig_.advance(seconds(200)));
  EXPECT_EQ(mlds(), 0);
  ASSERT_TRUE(rig_.advance(seconds(200)));
  EXPECT_EQ(mlds(), 1) << "the other has gone";
  here(fake::frame_of({0x33, 0x33, 0, 0, 0, 1}, kHere, kEtherTypeIpv6, query));
  ASSERT_TRUE(rig_.advance(seconds(200)));
  EXPECT_EQ(mlds(), 0) << "a router that is a VM";
}

// Ours are from no address and so win no election; a switch that asks by IGMP says nothing of MLD.
TEST_F(UplinkMulticastTest, QueriesOfIgmpQuietNone) {
  queries();
  here(igmp_frame("11", {}));
  EXPECT_EQ(count("bad_reports"), 0u);
  ASSERT_TRUE(rig_.advance(seconds(200)));
  EXPECT_EQ(queries().size(), 4u) << "two of each protocol";
}

TEST_F(UplinkMulticastTest, ASolicitedNodeGroupIsJoinedByMld) {
  here(mld_frame("83"));
  EXPECT_TRUE(is_member(address_of<16>(kSolicited)));
  const std::array<std::uint8_t, 6> mac = kThere;
  const auto solicitation = fake::neighbour_packet(135, address_of<16>(kNodeIpv6),
                                                   address_of<16>(kSolicited), {0xFE, 0x80}, mac);
  for (unsigned i = 0; i < 2; ++i) {
    rig_.second.on_frame(0, fake::frame_of(kSolicitedMac, kThere, kEtherTypeIpv6, solicitation));
    ASSERT_TRUE(rig_.run());
    const auto heard = rig_.first_vms.take();
    ASSERT_EQ(heard.size(), 1u);
    EXPECT_EQ(heard[0].frame().destination, kSolicitedMac);
  }
  EXPECT_FALSE(
      rig_.administration.is_sender(gid_in(address_of<16>(kSolicited)), UplinkRig::kSecondPort))
      << "all hear the question";
  here(mld_frame("84"));
  ASSERT_TRUE(rig_.advance(seconds(2)));
  EXPECT_FALSE(is_member(address_of<16>(kSolicited)));
}

TEST_F(UplinkMulticastTest, AGroupWithTheNameOfAllNodesIsNeverLeft) {
  constexpr std::string_view kAllsName = "ff050000000000000000000000000001";
  ASSERT_EQ(name_of(address_of<16>(kAllsName)), name_of(kAllNodes));
  here(mld_frame("83", kAllsName));
  here(mld_frame("84", kAllsName));
  ASSERT_TRUE(rig_.advance(seconds(300)));
  EXPECT_TRUE(is_member(kAllNodes));
}

TEST_F(UplinkMulticastTest, AVmThatSpeaksInAGroupOfTheLinkListensToIt) {
  constexpr Ipv4Address kVrrp{224, 0, 0, 18};
  here(fake::frame_of({0x01, 0, 0x5E, 0, 0, 18}, kHere, kEtherTypeIpv4,
                      fake::ipv4_packet(60, {.to = kVrrp, .protocol = 112})));
  EXPECT_TRUE(is_member(kVrrp));
  here(fake::frame_of(kReportedMac, kHere, kEtherTypeIpv4,
                      fake::ipv4_packet(60, {.to = kReported})));
  EXPECT_FALSE(is_member()) << "of others, senders need not listen";
  report_here();
  EXPECT_FALSE(is_member(Ipv4Address{224, 0, 0, 22})) << "to which reports go";
}

TEST_F(UplinkMulticastTest, ReportsAreJudgedAndBounded) {
  FrameBytes bad = igmp_frame(kReport);
  bad[14 + 20 + 3] ^= std::byte{1};
  here(bad);
  EXPECT_FALSE(is_member());
  EXPECT_EQ(count("bad_reports"), 1u);
  for (std::uint8_t i = 0; i < 40; ++i) here(igmp_frame(kReport, {239, 5, 5, i}));
  EXPECT_EQ(count("no_group_room"), 40 - WantedGroups::kMostOfMac);
  EXPECT_EQ(rig_.first.multicast().wanted().size(), WantedGroups::kMostOfMac);
}

TEST_F(UplinkMulticastTest, VlansHaveGroupsOfTheirOwn) {
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  here(igmp_frame(kReport), 5);
  EXPECT_TRUE(rig_.administration.is_member(gid_in(kReported, 0x8005), UplinkRig::kFirstPort));
  EXPECT_FALSE(is_member());
  heard_here(kReported, 5);
  rig_.second.on_frame(5, fake::frame_of(kReportedMac, kThere, kEtherTypeIpv4,
                                         fake::ipv4_packet(100, {.to = kReported})));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.first_vms.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].vlan, 5);
}

TEST_F(UplinkMulticastTest, AfterAForgetfulManagerGroupsAreJoinedAgain) {
  report_here();
  heard_here();
  rig_.administration.want_registrations();
  EXPECT_FALSE(is_member());
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(is_member());
  EXPECT_TRUE(is_member(kAllNodes));
  EXPECT_EQ(heard_here(), 1u);
  EXPECT_EQ(heard_here(), 1u);
  EXPECT_TRUE(rig_.administration.is_sender(gid_in(kReported), UplinkRig::kSecondPort));
}

TEST_F(UplinkMulticastTest, ALinkThatGoesAndComesJoinsAgain) {
  report_here();
  rig_.net.first.port(1)->link_down();
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.first.multicast().memberships().find({.vlan = 0, .name = name_of(kReported)}),
            nullptr);
  queries();
  rig_.net.first.port(1)->link_up(subnet::Speed::kQuad);
  rig_.net.manager.sweep();
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(is_member());
  EXPECT_EQ(queries().size(), 2u) << "a VM may have reported meanwhile";
  EXPECT_EQ(heard_here(), 1u);
}

TEST_F(UplinkMulticastTest, WhereGroupsCannotBeMadeTheBroadcastGroupHasAll) {
  rig_.administration.to_members().refusal = wire::infiniband::AdministrationStatus::kNoResources;
  report_here();
  EXPECT_FALSE(is_member());
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(heard_here(), 1u);
}

}  // namespace
}  // namespace paravane::ipoib
