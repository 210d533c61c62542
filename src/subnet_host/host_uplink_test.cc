#include "subnet_host/host_uplink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "testing/own_network.h"
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
    uplink_ = std::make_unique<HostUplink>("vmnic32", rig_.net.first, 1, *loop_, waiting_,
                                           rig_.net.clock, [this] { ++lost_; });
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
      waiting_.turn();
      uplink_->on_time(rig_.net.clock.now);
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
  WaitingTaps waiting_;
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

TEST_F(HostUplinkTest, VlansBeyondTheRoomOfAnUplinkAreCounted) {
  const UniqueFd tap = add(0, true);
  for (std::uint16_t vlan = 1; vlan < ipoib::Uplink::kMostPartitions; ++vlan) heard(tap, vlan);
  EXPECT_EQ(uplink_->counters().no_vlan_room.value(), 0u);
  heard(tap, 1000);
  EXPECT_EQ(uplink_->counters().no_vlan_room.value(), 1u);
  EXPECT_EQ(uplink_->counters().bad_tags.value(), 0u);
  EXPECT_EQ(::send(tap.get(), "short", 5, 0), 5);
  settle();
  EXPECT_EQ(uplink_->counters().bad_tags.value(), 1u);
}

// By it the keeper knows which uplink of a team is to carry the frames.
TEST_F(HostUplinkTest, ATapHasACarrierWhileThePortIsActive) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  UniqueFd tap(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  ifreq request{};
  std::strncpy(request.ifr_name, "vmnic32", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  ASSERT_EQ(::ioctl(tap.get(), TUNSETIFF, &request), 0);
  ASSERT_TRUE(network.ip("link set vmnic32 up"));
  subnet::Port& port = *rig_.net.first.port(1);
  const auto has_carrier = [&network] {
    return network.ip_shows("link show dev vmnic32", "LOWER_UP");
  };
  port.link_down();
  ASSERT_TRUE(uplink_->add({.uplink = "vmnic32", .vlan = 0, .tap = std::move(tap)}));
  EXPECT_FALSE(has_carrier()) << "from the beginning";
  port.link_up(subnet::Speed::kQuad);
  settle();
  EXPECT_FALSE(has_carrier()) << "while no manager has set it Active";
  rig_.net.manager.sweep();
  settle();
  EXPECT_TRUE(port.is_active());
  EXPECT_TRUE(has_carrier());
  port.link_down();
  settle();
  EXPECT_FALSE(has_carrier());
}

// ---- VMs that tag their frames themselves ----

class GuestVlansTest : public HostUplinkTest {
 protected:
  static FrameBytes frame(const ipoib::MacBytes& to, const ipoib::MacBytes& from,
                          std::optional<std::uint16_t> vlan) {
    const FrameBytes packet = fake::ipv4_packet(60);
    FrameBytes bytes;
    ipoib::EthernetFrame frame{
        .destination = to, .source = from, .type = wire::roce::kEtherTypeIpv4, .payload = packet};
    if (vlan) frame.vlan = ipoib::Vlan{.number = *vlan};
    ipoib::write_frame(frame, bytes);
    return bytes;
  }
  void send(const UniqueFd& tap, const FrameBytes& bytes) {
    EXPECT_GT(::send(tap.get(), bytes.data(), bytes.size(), 0), 0);
    settle();
  }
  // What came out of the tap, but for queries of listeners.
  static std::vector<FrameBytes> received(const UniqueFd& tap) {
    std::vector<FrameBytes> all;
    FrameBytes bytes(2000);
    for (;;) {
      const ssize_t got = ::recv(tap.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return all;
      const FrameBytes one(bytes.begin(), bytes.begin() + got);
      const auto read = ipoib::read_frame(one);
      if (read && (read->destination[0] & 1) != 0 && read->destination != fake::kToAll) continue;
      all.push_back(one);
    }
  }
  std::uint64_t bad_tags() const { return uplink_->counters().bad_tags.value(); }

  static constexpr ipoib::MacBytes kGuest{0x00, 0x16, 0x3E, 0, 0, 9};
  UniqueFd five_ = add(5);
  UniqueFd guests_ = add(kGuestVlans, true);
};

TEST_F(GuestVlansTest, AGuestIsInEachVlanOfThePort) {
  EXPECT_EQ(heard(guests_, 5), Vlans{5});
  EXPECT_EQ(heard(guests_, {}), Vlans{0});
  EXPECT_EQ(heard(five_, {}), Vlans{5}) << "the other tap is there, too";
}

TEST_F(GuestVlansTest, AVlanThatNeitherPortNorSwitchHasIsDropped) {
  for (std::uint16_t vlan = 100; vlan < 400; ++vlan) heard(guests_, vlan);
  EXPECT_EQ(bad_tags(), 300u);
  EXPECT_EQ(uplink_->uplink().memberships().size(), 2u);
  UniqueFd seven = add(7);
  heard(guests_, 7);
  EXPECT_EQ(bad_tags(), 300u) << "it is the switch's, and lacks its partition alone";
}

TEST_F(GuestVlansTest, VmsOfBothBridgesReachEachOther) {
  send(guests_, frame(fake::kToAll, kGuest, 5));
  EXPECT_EQ(received(five_), std::vector<fake::FrameBytes>{frame(fake::kToAll, kGuest, {})});
  send(five_, frame(kGuest, kVm, {}));
  EXPECT_EQ(received(guests_), std::vector<fake::FrameBytes>{frame(kGuest, kVm, 5)});
  send(guests_, frame(kVm, kGuest, 5));
  EXPECT_EQ(received(five_), std::vector<fake::FrameBytes>{frame(kVm, kGuest, {})});
  EXPECT_EQ(fake::count_of(uplink_->uplink(), "unknown_destinations"), 0u);
  send(guests_, frame(fake::kToAll, kGuest, {}));
  EXPECT_TRUE(received(five_).empty()) << "of another VLAN";
}

TEST_F(GuestVlansTest, WhatIsForAnotherNodeGoesToNoOtherTap) {
  const ipoib::MacBytes remote{0x02, 0, 0, 0x77, 0, 0x55};
  send(five_, frame(remote, kVm, {}));
  EXPECT_TRUE(received(guests_).empty());
  send(five_, frame(kGuest, kVm, {}));
  EXPECT_EQ(received(guests_).size(), 1u) << "of a VM that was not seen, it is found out";
}

TEST_F(GuestVlansTest, WhatArrivesGoesWhereItsVmIs) {
  send(guests_, frame(fake::kToAll, kGuest, 5));
  send(five_, frame(fake::kToAll, kVm, {}));
  std::vector<ipoib::MacBytes> there;
  for (const auto& delivered : rig_.second_vms.take()) there.push_back(delivered.frame().source);
  ASSERT_EQ(there.size(), 2u);
  received(five_);
  received(guests_);
  const ipoib::MacBytes far{0x00, 0x16, 0x3E, 0, 0, 7};
  rig_.second.on_frame(5, frame(there[0], far, {}));
  settle();
  EXPECT_TRUE(received(five_).empty());
  auto arrived = received(guests_);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(ipoib::read_frame(arrived[0])->vlan, ipoib::Vlan{.number = 5});
  EXPECT_EQ(ipoib::read_frame(arrived[0])->destination, kGuest);
  rig_.second.on_frame(5, frame(there[1], far, {}));
  settle();
  EXPECT_EQ(received(five_).size(), 1u);
  EXPECT_TRUE(received(guests_).empty());
  rig_.second.on_frame(5, frame(fake::kToAll, far, {}));
  settle();
  EXPECT_EQ(received(five_).size(), 1u);
  EXPECT_EQ(received(guests_).size(), 1u);
  // A VM that has been silent for long may have moved.
  ASSERT_TRUE(rig_.advance(HostUplink::kPlaceLife));
  rig_.second.on_frame(5, frame(there[1], far, {}));
  settle();
  EXPECT_EQ(received(guests_).size(), 1u);
}

TEST_F(GuestVlansTest, WithoutTheirTapTheirVlansEnd) {
  UniqueFd untagged = add(0);
  uplink_->remove(5);
  five_.reset();
  heard(guests_, 5);
  EXPECT_EQ(heard(guests_, 5), Vlans{5});
  uplink_->remove(kGuestVlans);
  settle();
  const auto memberships = uplink_->uplink().memberships();
  ASSERT_EQ(memberships.size(), 1u);
  EXPECT_EQ(memberships[0]->vlan(), 0);
  EXPECT_TRUE(uplink_->has_taps());
  EXPECT_EQ(heard(untagged, {}), Vlans{0});
}

TEST_F(GuestVlansTest, TheOtherFormKeepsTheirTap) {
  UniqueFd all = add(0, true);
  EXPECT_EQ(heard(guests_, 5), Vlans{5});
  send(guests_, frame(fake::kToAll, kGuest, 5));
  EXPECT_EQ(received(all).back(), frame(fake::kToAll, kGuest, 5));
  send(all, frame(kGuest, kVm, 5));
  EXPECT_EQ(received(guests_).back(), frame(kGuest, kVm, 5));
}

}  // namespace
}  // namespace paravane::subnet_host
