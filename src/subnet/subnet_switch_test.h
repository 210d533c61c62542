// What tests of SubnetSwitch share: a switch of eight active outer ports, with a recording link end
// at each, two LIDs in its table and one of its own.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "subnet/subnet_switch.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet {

inline constexpr PortNumber kOuterPorts = 8;
inline constexpr std::uint16_t kOwnLid = 0x30;
inline constexpr std::uint16_t kManagerLid = 1;  // through port 1
inline constexpr std::uint16_t kReachedLid = 2;  // through port 2
inline constexpr std::uint64_t kManagersKey = 0xABCD;
inline constexpr std::uint16_t kGroupLid = 0xC003;

class SubnetSwitchTest : public testing::Test {
 protected:
  SubnetSwitchTest() {
    for (PortNumber port = 1; port <= kOuterPorts; ++port) {
      switch_.attach(port, ends_[port]);
      EXPECT_TRUE(fake::set_port_active(at(port)));
    }
    EXPECT_TRUE(fake::set_port_identity(at(0), kOwnLid, 0));
    wire::infiniband::LinearBlock block;
    block.fill(wire::infiniband::kNoPort);
    block[kManagerLid] = 1;
    block[kReachedLid] = 2;
    EXPECT_TRUE(switch_.forwarding()->set_linear(0, block));
    wire::infiniband::SwitchInfo info = switch_.forwarding()->info();
    info.linear_top.set(0x3F);
    info.life_change |= wire::infiniband::kPortStateChanged;
    EXPECT_TRUE(switch_.forwarding()->set_info(info));
  }

  Port& at(PortNumber port) { return *switch_.port(port); }
  static Packet data_packet(std::uint16_t to, std::uint16_t partition = 0xFFFF,
                            bool global = false) {
    wire::infiniband::DatagramHeaders headers{
        .source = kManagerLid, .destination = to, .partition = partition, .destination_qp = 0x40};
    if (global) headers.global = wire::infiniband::GlobalRoute{};
    return fake::packet_with(headers, std::array<std::byte, 20>{});
  }
  void arrive(PortNumber port, Packet packet) { switch_.on_packet(port, std::move(packet)); }
  // How many packets have left through each port; they are forgotten.
  std::vector<PortNumber> ways_taken() {
    std::vector<PortNumber> ways;
    for (PortNumber port = 1; port <= kOuterPorts; ++port)
      ways.insert(ways.end(), ends_[port].take().size(), port);
    return ways;
  }
  // The only packet that has left, through that port.
  Packet sent_through(PortNumber port) {
    std::vector<Packet> sent = ends_[port].take();
    EXPECT_EQ(sent.size(), 1u);
    EXPECT_TRUE(ways_taken().empty());
    return sent.empty() ? Packet() : sent.front();
  }
  void set_group(std::uint16_t mask) {
    wire::infiniband::MulticastBlock masks;
    masks[kGroupLid - 0xC000].set(mask);
    EXPECT_TRUE(switch_.forwarding()->set_multicast(0, 0, masks));
  }
  void enforce(PortNumber port, bool in, bool out, std::vector<std::uint16_t> keys) {
    wire::infiniband::PortInfo wish = fake::wish_at(at(port));
    wish.lanes_enforcement = static_cast<std::uint8_t>((in ? 8 : 0) | (out ? 4 : 0));
    EXPECT_EQ(at(port).set_info(wish), 0);
    EXPECT_TRUE(fake::set_port_keys(at(port), std::move(keys)));
  }

  TurnClock clock_{Instant(std::chrono::hours(1))};
  PacketQueue queue_;
  std::array<fake::RecordingLinkEnd, kOuterPorts + 1> ends_;
  SubnetSwitch switch_{0x0202'0000'0000'0100, "host switch", kOuterPorts, queue_, clock_};
};

}  // namespace paravane::subnet
