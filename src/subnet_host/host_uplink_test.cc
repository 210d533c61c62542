#include "subnet_host/host_uplink.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "testing/uplink_rig.h"

namespace paravane::subnet_host {
namespace {

using fake::FrameBytes;
using fake::UplinkRig;

constexpr ipoib::MacBytes kVm{0x00, 0x16, 0x3E, 0, 0, 1};

// Sockets stand for taps. What VMs send through it comes out at the second uplink of the rig, whose
// first is not used.
class HostUplinkTest : public testing::Test {
 protected:
  HostUplinkTest() {
    loop_ = *EventLoop::create();
    rig_.administration.make_group(0x8005);
    EXPECT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, {0xFFFF, 0x8005}));
    EXPECT_TRUE(rig_.write_partitions(UplinkRig::kSecondPort, {0xFFFF, 0x8005}));
    EXPECT_TRUE(rig_.second.add_vlan(0));
    EXPECT_TRUE(rig_.second.add_vlan(5));
    uplink_ = std::make_unique<HostUplink>("vmnic32", rig_.net.first, 1, *loop_, rig_.net.clock,
                                           [this] { ++lost_; });
    settle();
  }
  // Returns the side of the switch.
  UniqueFd add(std::uint16_t vlan, bool tagged = false) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    EXPECT_TRUE(uplink_->add(
        {.uplink = "vmnic32", .vlan = vlan, .tagged = tagged, .tap = UniqueFd(ends[0])}));
    settle();
    return UniqueFd(ends[1]);
  }
  void settle() {
    for (int round = 0; round < 4; ++round) {
      EXPECT_TRUE(loop_->poll(Duration::zero()));
      uplink_->uplink().on_time(rig_.net.clock.now);
      EXPECT_TRUE(rig_.run());
    }
  }
  static FrameBytes broadcast(std::optional<std::uint16_t> vlan) {
    const FrameBytes packet = fake::ipv4_packet(60);
    FrameBytes bytes;
    ipoib::EthernetFrame frame{.destination = fake::kToAll,
                               .source = kVm,
                               .type = wire::roce::kEtherTypeIpv4,
                               .payload = packet};
    if (vlan) frame.vlan = ipoib::Vlan{.number = *vlan};
    ipoib::write_frame(frame, bytes);
    return bytes;
  }
  // The VLANs in which it arrives.
  std::vector<std::uint16_t> heard(const UniqueFd& tap, std::optional<std::uint16_t> tag) {
    const FrameBytes bytes = broadcast(tag);
    EXPECT_GT(::send(tap.get(), bytes.data(), bytes.size(), 0), 0);
    settle();
    std::vector<std::uint16_t> vlans;
    for (const auto& delivered : rig_.second_vms.take()) vlans.push_back(delivered.vlan);
    return vlans;
  }

  UplinkRig rig_;
  std::unique_ptr<EventLoop> loop_;
  int lost_ = 0;
  std::unique_ptr<HostUplink> uplink_;
};

using Vlans = std::vector<std::uint16_t>;

// The tap of a switch that filters VLANs stays while they come and go.
TEST_F(HostUplinkTest, EachVlanOfATaggedTapIsThereAgainAfterItWent) {
  const UniqueFd tap = add(0, true);
  heard(tap, 5);  // from now on it is in it
  for (const std::optional<std::uint16_t> tag : {std::optional<std::uint16_t>(), {5}}) {
    const auto vlan = tag.value_or(0);
    EXPECT_EQ(heard(tap, tag), Vlans{vlan});
    uplink_->remove(vlan);
    heard(tap, tag);
    EXPECT_EQ(heard(tap, tag), Vlans{vlan}) << "the first frame after it has joined";
  }
  EXPECT_EQ(heard(tap, 0), Vlans{0}) << "a tag with a priority alone";
}

TEST_F(HostUplinkTest, ATapOfAVlanTakesNoTags) {
  const UniqueFd five = add(5);
  EXPECT_EQ(heard(five, {}), Vlans{5});
  EXPECT_EQ(heard(five, 5), Vlans{});
  EXPECT_EQ(heard(five, 0), Vlans{});
}

}  // namespace
}  // namespace paravane::subnet_host
