#include "ipoib/uplink.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "testing/uplink_rig.h"

namespace paravane::ipoib {
namespace {

using fake::count_of;
using fake::FrameBytes;
using fake::kToAll;
using fake::UplinkRig;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::Ipv6Address;
using wire::infiniband::kEtherTypeArp;
using wire::infiniband::kEtherTypeRarp;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

constexpr MacBytes kHere{0x00, 0x16, 0x3E, 0, 0, 1};   // of a VM at the first uplink
constexpr MacBytes kThere{0x00, 0x16, 0x3E, 0, 0, 2};  // at the second
constexpr wire::infiniband::Ipv4Address kIpHere{10, 0, 0, 1};
constexpr wire::infiniband::Ipv4Address kIpThere{10, 0, 0, 2};

class UplinkTest : public testing::Test {
 protected:
  UplinkTest() { add(0); }

  void add(std::uint16_t vlan) {
    ASSERT_TRUE(rig_.first.add_vlan(vlan));
    ASSERT_TRUE(rig_.second.add_vlan(vlan));
    ASSERT_TRUE(rig_.run());
  }
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

  UplinkRig rig_;
};

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

}  // namespace
}  // namespace paravane::ipoib
