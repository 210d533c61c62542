// Several uplinks of one port (guide, 4.4.2.2).

#include <gmock/gmock.h>

#include "ipoib/uplink_test.h"

namespace paravane::ipoib {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SharedPortTest : public UplinkTest {
 protected:
  SharedPortTest() {
    rig_.make_beside();
    add_beside(0);
  }
  void add_beside(std::uint16_t vlan) {
    ASSERT_TRUE(rig_.beside->add_vlan(vlan));
    ASSERT_TRUE(rig_.run());
  }
  bool is_member(std::uint16_t partition = kKeyOfAll) {
    EXPECT_TRUE(rig_.run());
    return rig_.administration.is_member(partition, UplinkRig::kFirstPort);
  }
  // The MAC under which the uplink beside knows the VM here.
  MacBytes here_seen_beside() {
    rig_.first.on_frame(0, fake::arp_frame(kToAll, request()));
    EXPECT_TRUE(rig_.run());
    const auto frames = rig_.beside_vms.take();
    EXPECT_THAT(frames, SizeIs(1));
    return frames.empty() ? MacBytes{} : frames[0].frame().source;
  }
};

TEST_F(SharedPortTest, UplinksOfAPortReachEachOther) {
  const MacBytes here = here_seen_beside();
  EXPECT_EQ(remote_queue_pair(here)->lid, rig_.net.first_lid());
  EXPECT_THAT(rig_.second_vms.take(), SizeIs(1)) << "a broadcast goes to both";
  EXPECT_THAT(rig_.first_vms.take(), IsEmpty()) << "not to its own uplink";
  rig_.administration.forget_asked();
  rig_.beside->on_frame(0, fake::arp_frame(here, {.operation = ArpOperation::kReply,
                                                  .sender = kThere,
                                                  .sender_ipv4 = kIpThere,
                                                  .target = here,
                                                  .target_ipv4 = kIpHere}));
  ASSERT_TRUE(rig_.run());
  const auto answers = rig_.first_vms.take();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].frame().destination, kHere);
  const MacBytes there = answers[0].frame().source;
  rig_.first.on_frame(0, ipv4_frame(there));
  ASSERT_TRUE(rig_.run());
  const auto heard = rig_.beside_vms.take();
  ASSERT_THAT(heard, SizeIs(1));
  EXPECT_EQ(heard[0].frame().destination, kThere);
  EXPECT_EQ(heard[0].frame().source, here);
  EXPECT_THAT(rig_.second_vms.take(), IsEmpty());
  EXPECT_TRUE(rig_.administration.asked().empty()) << "the port knows the way to itself";
}

TEST_F(SharedPortTest, AFrameAboveTheMtuIsRefusedWithinThePort) {
  const MacBytes here = here_seen_beside();
  rig_.beside->on_frame(0, fake::frame_of(here, kThere, kEtherTypeIpv4, fake::ipv4_packet(9000)));
  EXPECT_EQ(fake::count_of(*rig_.beside, "too_big"), 1u);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(rig_.first_vms.take(), IsEmpty());
}

TEST_F(SharedPortTest, ThePortLeavesAGroupWithTheLastUplinkThatNeedsIt) {
  ASSERT_TRUE(is_member());
  rig_.beside->remove_vlan(0);
  EXPECT_TRUE(is_member()) << "the first needs it";
  EXPECT_NE(reached(kToAll), 0u);
  add_beside(0);
  rig_.first.remove_vlan(0);
  EXPECT_TRUE(is_member()) << "the one beside needs it";
  rig_.beside.reset();
  EXPECT_FALSE(is_member());
}

TEST_F(SharedPortTest, AnUplinkThatEndsWhileItJoinsTakesNothingAway) {
  ASSERT_TRUE(is_member());
  rig_.beside->remove_vlan(0);
  ASSERT_TRUE(rig_.beside->add_vlan(0));
  rig_.beside->on_time(rig_.net.clock.now);  // it asks
  rig_.beside.reset();
  EXPECT_TRUE(is_member());
  EXPECT_NE(reached(kToAll), 0u);
}

TEST_F(SharedPortTest, UplinksOfAPortJoinEachItsPartitions) {
  make_partitions({kKeyOfAll, 0x8005});
  add(5);
  EXPECT_TRUE(is_member(0x8005));
  rig_.first.on_frame(5, ipv4_frame(kToAll));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(rig_.beside_vms.take(), IsEmpty()) << "it is not in this VLAN";
  add_beside(5);
  rig_.first.remove_vlan(5);
  EXPECT_TRUE(is_member(0x8005));
  rig_.beside->remove_vlan(5);
  EXPECT_FALSE(is_member(0x8005));
}

// The port's membership ends with its link, and begins anew for all.
TEST_F(SharedPortTest, ALinkThatGoesAndComesIsFollowedByAll) {
  rig_.net.first.port(1)->link_down();
  ASSERT_TRUE(rig_.run());
  rig_.net.first.port(1)->link_up(subnet::Speed::kQuad);
  rig_.net.manager.sweep();
  EXPECT_TRUE(is_member());
  rig_.first.remove_vlan(0);
  EXPECT_TRUE(is_member());
  rig_.beside->remove_vlan(0);
  EXPECT_FALSE(is_member());
}

}  // namespace
}  // namespace paravane::ipoib
