#include "subnet_host/uplink_status.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "testing/uplink_rig.h"

namespace paravane::subnet_host {
namespace {

using fake::UplinkRig;

class UplinkStatusTest : public testing::Test {
 protected:
  UplinkStatusTest() {
    loop_ = *EventLoop::create();
    uplink_ = std::make_unique<HostUplink>("vmnic32", rig_.net.first, 1, *loop_, waiting_,
                                           rig_.net.clock, [] {});
    rig_.administration.make_group(0x8005);
    rig_.administration.make_group(0x8006);
  }
  void add(std::uint16_t vlan) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    EXPECT_TRUE(uplink_->add({.uplink = "vmnic32", .vlan = vlan, .tap = UniqueFd(ends[0])}));
    ends_.emplace_back(ends[1]);
  }
  model::IbUplink status(std::vector<std::uint16_t> keys) {
    EXPECT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, std::move(keys)));
    for (int round = 0; round < 4; ++round) {
      uplink_->uplink().on_time(rig_.net.clock.now);
      EXPECT_TRUE(rig_.run());
    }
    model::IbUplink status;
    status.vds = "lan";
    status.mtu = 1500;
    add_status(*rig_.net.first.port(1), uplink_.get(), status);
    return status;
  }

  UplinkRig rig_;
  std::unique_ptr<EventLoop> loop_;
  WaitingTaps waiting_;
  std::unique_ptr<HostUplink> uplink_;
  std::vector<UniqueFd> ends_;
};

TEST_F(UplinkStatusTest, TwoVlansOfOnePartitionAreAProblem) {
  for (const std::uint16_t vlan : std::initializer_list<std::uint16_t>{0, 5, 6}) add(vlan);
  const model::IbUplink apart = status({0xFFFF, 0x8005, 0x8006});
  ASSERT_EQ(apart.partitions.size(), 3u);
  for (const model::IbUplinkPartition& partition : apart.partitions)
    EXPECT_EQ(partition.problem, "");
  const model::IbUplink shared = status({0x8005, 0xFFFF, 0x8006});
  ASSERT_EQ(shared.partitions.size(), 3u);
  EXPECT_EQ(shared.partitions[0].problem, "");
  EXPECT_EQ(shared.partitions[1].problem,
            "VLAN 5 and untagged frames are one network: partition 0x8005 is the first of this "
            "port's table. Have opensm's partitions.conf begin with another one: Default=0x7fff, "
            "ipoib : ALL=full;");
  EXPECT_EQ(shared.partitions[2].problem, "");
  EXPECT_TRUE(shared.counters.contains("no_vlan_room"));
}

TEST_F(UplinkStatusTest, PacketsAboveTheSwitchsMtuAreAProblemOnceTheyCame) {
  add(0);
  const model::IbUplink quiet = status({0xFFFF});
  ASSERT_EQ(quiet.partitions.size(), 1u);
  ASSERT_EQ(quiet.partitions[0].mtu, 2044u);
  EXPECT_EQ(quiet.partitions[0].problem, "");
  ASSERT_TRUE(rig_.write_partitions(UplinkRig::kSecondPort, {0xFFFF}));
  ASSERT_TRUE(rig_.second.add_vlan(0));
  ASSERT_TRUE(rig_.run());
  // Of an address and an MTU that the node beyond chose.
  for (const std::size_t bytes : {std::size_t{1500}, std::size_t{1501}}) {
    const fake::FrameBytes packet = fake::ipv4_packet(bytes);
    fake::FrameBytes frame;
    ipoib::write_frame({.destination = fake::kToAll,
                        .source = {0x00, 0x16, 0x3E, 0, 0, 1},
                        .type = wire::roce::kEtherTypeIpv4,
                        .payload = packet},
                       frame);
    rig_.second.on_frame(0, frame);
    ASSERT_TRUE(rig_.run());
  }
  EXPECT_EQ(uplink_->counters().above_switch_mtu.value(), 1u);
  EXPECT_EQ(status({0xFFFF}).partitions[0].problem,
            "untagged frames: the switch's MTU of 1500 is below the partition's of 2044: larger "
            "packets that come are dropped (1 so far). Raise it with: paravane vds set lan --mtu "
            "2044");
  rig_.net.clock.now += HostUplink::kAboveMtuCounts;
  EXPECT_EQ(status({0xFFFF}).partitions[0].problem, "") << "the node beyond may have mended it";
}

}  // namespace
}  // namespace paravane::subnet_host
