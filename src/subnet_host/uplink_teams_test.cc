// Uplinks of a switch as a team: a VM's address moves with its frames.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "subnet_host/host_uplinks.h"
#include "testing/uplink_rig.h"

namespace paravane::subnet_host {
namespace {

using fake::FrameBytes;
using fake::UplinkRig;

constexpr ipoib::MacBytes kTeamVm{0x00, 0x16, 0x3E, 0, 0, 1};
constexpr wire::infiniband::Ipv4Address kTeamIp{10, 0, 0, 1};

// Sockets stand for taps. "vmnic32" is at the port of the rig's first uplink, "vmnic33" at that of
// its second; the rig's uplinks are other nodes of the subnet, and each hears what the other port
// sends to all.
class HostUplinksTeamTest : public testing::Test {
 protected:
  HostUplinksTeamTest() {
    loop_ = *EventLoop::create();
    rig_.administration.make_group(0x8005);
    EXPECT_TRUE(rig_.write_partitions(UplinkRig::kFirstPort, {0xFFFF, 0x8005}));
    EXPECT_TRUE(rig_.write_partitions(UplinkRig::kSecondPort, {0xFFFF, 0x8005}));
    for (const std::uint16_t vlan : {std::uint16_t{0}, std::uint16_t{5}}) {
      EXPECT_TRUE(rig_.first.add_vlan(vlan));
      EXPECT_TRUE(rig_.second.add_vlan(vlan));
    }
    uplinks_ = std::make_unique<HostUplinks>(*loop_, rig_.net.clock, [](const std::string&) {});
    settle();
  }
  // Returns the side of the switch.
  UniqueFd add(const std::string& uplink, const std::string& vds = "lan", bool tagged = false) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    subnet::HostAdapter& adapter = uplink == "vmnic32" ? rig_.net.first : rig_.net.second;
    EXPECT_TRUE(uplinks_->add(
        adapter, 1, {.uplink = uplink, .vds = vds, .tagged = tagged, .tap = UniqueFd(ends[0])}));
    settle();
    return UniqueFd(ends[1]);
  }
  void settle() {
    for (int round = 0; round < 4; ++round) {
      EXPECT_TRUE(loop_->poll(Duration::zero()));
      uplinks_->turn();
      uplinks_->on_time(rig_.net.clock.now);
      EXPECT_TRUE(rig_.run());
    }
  }
  void send(const UniqueFd& tap, const FrameBytes& bytes) {
    EXPECT_GT(::send(tap.get(), bytes.data(), bytes.size(), 0), 0);
    settle();
  }
  static FrameBytes arp(ipoib::ArpOperation operation, wire::infiniband::Ipv4Address address = {}) {
    return fake::arp_frame(fake::kToAll, {.operation = operation,
                                          .sender = kTeamVm,
                                          .sender_ipv4 = address,
                                          .target_ipv4 = {10, 0, 0, 2}});
  }
  // The IP addresses that were announced to a node of the subnet.
  static std::vector<wire::infiniband::Ipv4Address> announced(fake::RecordingFrameSink& node) {
    std::vector<wire::infiniband::Ipv4Address> addresses;
    for (const auto& delivered : node.take()) {
      const auto frame = delivered.frame();
      const auto read = ipoib::read_ethernet_arp(frame.payload);
      if (read && read->sender_ipv4 == read->target_ipv4 &&
          read->sender_ipv4 != wire::infiniband::Ipv4Address{})
        addresses.push_back(read->sender_ipv4);
    }
    return addresses;
  }
  std::size_t addresses(const std::string& uplink) const {
    return uplinks_->find(uplink)->uplink().addresses();
  }

  using Ips = std::vector<wire::infiniband::Ipv4Address>;
  UplinkRig rig_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<HostUplinks> uplinks_;
};

TEST_F(HostUplinksTeamTest, AnAddressMovesWithItsFramesAndItsIpAddressesAreAnnounced) {
  const UniqueFd first = add("vmnic32");
  const UniqueFd second = add("vmnic33");
  send(first, arp(ipoib::ArpOperation::kRequest, kTeamIp));
  EXPECT_EQ(addresses("vmnic32"), 1u);
  // As the keeper sends it when the second takes over.
  send(second, arp(ipoib::ArpOperation::kReverseRequest));
  EXPECT_EQ(addresses("vmnic32"), 0u);
  EXPECT_EQ(addresses("vmnic33"), 1u);
  EXPECT_EQ(announced(rig_.first_vms), Ips{kTeamIp});
  // And back, with what was claimed before.
  rig_.second_vms.take();
  send(first, arp(ipoib::ArpOperation::kReverseRequest));
  EXPECT_EQ(addresses("vmnic33"), 0u);
  EXPECT_EQ(announced(rig_.second_vms), Ips{kTeamIp});
}

// A VM reports its groups every two minutes, and would hear nothing of them until then.
TEST_F(HostUplinksTeamTest, TheGroupsOfAnAddressMoveWithIt) {
  const UniqueFd first = add("vmnic32");
  const UniqueFd second = add("vmnic33");
  constexpr wire::infiniband::Ipv4Address kVrrp{224, 0, 0, 18};
  send(first, fake::frame_of({0x01, 0, 0x5E, 0, 0, 18}, kTeamVm, wire::roce::kEtherTypeIpv4,
                             fake::ipv4_packet(60, {.to = kVrrp, .protocol = 112})));
  const auto groups = [this](const std::string& uplink) {
    return uplinks_->find(uplink)->uplink().multicast().wanted().listeners();
  };
  EXPECT_EQ(groups("vmnic32"), 1u);
  send(second, arp(ipoib::ArpOperation::kReverseRequest));
  EXPECT_EQ(groups("vmnic32"), 0u);
  EXPECT_EQ(groups("vmnic33"), 1u);
  const ipoib::VlanGroup key{.vlan = 0, .name = ipoib::name_of(kVrrp)};
  EXPECT_NE(uplinks_->find("vmnic33")->uplink().multicast().memberships().find(key), nullptr);
}

TEST_F(HostUplinksTeamTest, AnAddressOfAnotherSwitchStays) {
  const UniqueFd first = add("vmnic32", "lan");
  const UniqueFd second = add("vmnic33", "dmz");
  send(first, arp(ipoib::ArpOperation::kRequest, kTeamIp));
  send(second, arp(ipoib::ArpOperation::kReverseRequest));
  EXPECT_EQ(addresses("vmnic32"), 1u);
  EXPECT_EQ(addresses("vmnic33"), 1u);
  EXPECT_EQ(announced(rig_.first_vms), Ips{});
}

TEST_F(HostUplinksTeamTest, AllAreInThePartitionsOfAllVlans) {
  const auto vlans = [this](const std::string& uplink) {
    std::vector<std::uint16_t> all;
    for (const ipoib::Membership* one : uplinks_->find(uplink)->uplink().memberships())
      all.push_back(one->vlan());
    return all;
  };
  const UniqueFd first = add("vmnic32", "lan", true);
  const UniqueFd second = add("vmnic33", "lan", true);
  FrameBytes tagged;
  const FrameBytes packet = fake::ipv4_packet(60);
  ipoib::write_frame({.destination = fake::kToAll,
                      .source = kTeamVm,
                      .vlan = ipoib::Vlan{.number = 5},
                      .type = wire::roce::kEtherTypeIpv4,
                      .payload = packet},
                     tagged);
  send(first, tagged);
  const std::vector<std::uint16_t> both{0, 5};
  EXPECT_EQ(vlans("vmnic32"), both);
  EXPECT_EQ(vlans("vmnic33"), both);
  uplinks_->close("vmnic33");
  const UniqueFd again = add("vmnic33", "lan", true);
  EXPECT_EQ(vlans("vmnic33"), both);
}

}  // namespace
}  // namespace paravane::subnet_host
