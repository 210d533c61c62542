// What becomes of frames of a RoCE port. All that comes to one end is compared with what must come.

#include "ethernet/roce_port_traffic_test.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace paravane::ethernet::port_traffic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

INSTANTIATE_TEST_SUITE_P(Bridges, RocePortTrafficTest, testing::ValuesIn(forms()),
                         [](const auto& test) { return test.param ? "VlanAware" : "Plain"; });

TEST_P(RocePortTrafficTest, RoceOfOthersComesToThePortAndAllElseToTheGuest) {
  const std::vector<Frame> roce = {
      ipv4_frame(kGuestMac, kFarMac, {}),
      ipv4_frame(kGuestMac, kFarMac, {.payload = 1400}),
      ipv4_frame(kGuestMac, kFarMac, {.fragment = 0}),
      ipv6_frame(kGuestMac, kFarMac, kRoceUdp),
      roce_v1_frame(kGuestMac, kFarMac),
      ipv4_frame(kBroadcast, kFarMac, {.payload = 64}),
      ipv6_frame(kIpv6Group, kFarMac, kRoceUdp),
  };
  const std::vector<Frame> others = {
      ipv4_frame(kGuestMac, kFarMac, {.port = kHelloUdp}),
      ipv4_frame(kGuestMac, kFarMac, {.protocol = 6}),
      ipv4_frame(kGuestMac, kFarMac, {.fragment = 0x2000}),
      ipv4_frame(kGuestMac, kFarMac, {.fragment = 3}),
      ipv4_frame(kGuestMac, kFarMac, {.options = true}),
      ipv6_frame(kGuestMac, kFarMac, kHelloUdp),
      ipv6_frame(kGuestMac, kFarMac, kRoceUdp, 44),
      arp_reply(kGuestMac, kFarMac),
      arp_reply(kBroadcast, kFarMac),
      roce_v1_frame(kUnknownMac, kFarMac),
      ipv4_frame(kUnknownMac, kFarMac, {}),
      ipv6_frame(kUnknownMac, kFarMac, kRoceUdp),
      ethernet_frame(kGuestMac, kFarMac, 0x88B5, {}),
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_TRUE(far_->write(others[i]));
    if (i < roce.size()) {
      EXPECT_TRUE(far_->write(roce[i]));
    }
  }
  EXPECT_EQ(texts_of(at_guest()), texts_of(others));
  EXPECT_EQ(texts_of(at_port()), texts_of(roce));
}

TEST_P(RocePortTrafficTest, APriorityTagDoesNotMatterAndAVlanDoes) {
  const Frame roce = ipv4_frame(kGuestMac, kFarMac, {});
  const Frame tagged = with_tag(roce, 0x6000);
  EXPECT_TRUE(far_->write(tagged));
  EXPECT_TRUE(far_->write(with_tag(ipv6_frame(kGuestMac, kFarMac, kRoceUdp), 0x2000)));
  EXPECT_TRUE(far_->write(with_tag(roce_v1_frame(kGuestMac, kFarMac), 0x2000)));
  const auto got = at_port();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(text_of(got[0]), text_of(GetParam() ? roce : tagged));
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  if (GetParam()) return;
  EXPECT_TRUE(far_->write(with_tag(roce, 0x6003)));
  EXPECT_THAT(texts_of(at_guest()), ElementsAre(text_of(with_tag(roce, 0x6003))));
  EXPECT_THAT(texts_of(at_port()), IsEmpty());
}

TEST_P(RocePortTrafficTest, WhatTheEngineWritesComesOutAsFromTheGuest) {
  const std::vector<Frame> frames = {ipv4_frame(kBroadcast, kGuestMac, {}),
                                     ipv6_frame(kBroadcast, kGuestMac, kRoceUdp),
                                     roce_v1_frame(kBroadcast, kGuestMac)};
  std::vector<Frame> of_vlan;
  for (const Frame& frame : frames) {
    EXPECT_TRUE(port_->write(frame));
    of_vlan.push_back(with_tag(frame, 5));
  }
  EXPECT_EQ(texts_of(at_far()), texts_of(frames));
  EXPECT_EQ(texts_of(at_other()), texts_of(GetParam() ? of_vlan : frames));
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), 0u);
  // The bridge has learned where the guest is, so it floods nothing to the others.
  EXPECT_TRUE(far_->write(ipv4_frame(kGuestMac, kFarMac, {.port = kHelloUdp})));
  EXPECT_THAT(texts_of(at_other()), IsEmpty());
  EXPECT_EQ(at_guest().size(), 1u);
}

TEST_P(RocePortTrafficTest, NothingElseOfTheEngineReachesTheNetwork) {
  expect_refused({
      arp_reply(kBroadcast, kGuestMac),
      ipv4_frame(kBroadcast, kGuestMac, {.port = kHelloUdp}),
      ipv4_frame(kBroadcast, kGuestMac, {.protocol = 6}),
      ipv4_frame(kBroadcast, kGuestMac, {.fragment = 0x2000}),
      ipv4_frame(kBroadcast, kGuestMac, {.fragment = 3}),
      ipv4_frame(kBroadcast, kGuestMac, {.options = true}),
      ipv6_frame(kBroadcast, kGuestMac, kHelloUdp),
      ipv6_frame(kBroadcast, kGuestMac, kRoceUdp, 44),
      ethernet_frame(kBroadcast, kGuestMac, 0x88B5, {}),
      with_tag(ipv4_frame(kBroadcast, kGuestMac, {}), 0),
      with_tag(ipv4_frame(kBroadcast, kGuestMac, {}), 5),
  });
}

TEST_P(RocePortTrafficTest, TheEngineSpeaksWithNoOthersAddress) {
  MacBytes almost = kGuestMac;
  almost[5] ^= 1;
  expect_refused({ipv4_frame(kBroadcast, kStrangerMac, {}), ipv4_frame(kBroadcast, almost, {}),
                  ipv6_frame(kBroadcast, kStrangerMac, kRoceUdp),
                  roce_v1_frame(kBroadcast, kStrangerMac), arp_reply(kBroadcast, kStrangerMac)});
}

TEST_P(RocePortTrafficTest, GoesOnAfterItWasMended) {
  for (const char* command : {"tc filter del dev pv-db1 egress", "tc qdisc del dev pv-db1 clsact",
                              "tc qdisc del dev pvr-db1 clsact"}) {
    ASSERT_EQ(std::system(command), 0) << command;
    tie();
    const Frame in = ipv4_frame(kGuestMac, kFarMac, {});
    const Frame out = ipv4_frame(kBroadcast, kGuestMac, {});
    EXPECT_TRUE(far_->write(in));
    EXPECT_TRUE(port_->write(out));
    EXPECT_THAT(texts_of(at_port()), ElementsAre(text_of(in))) << command;
    EXPECT_THAT(texts_of(at_guest()), IsEmpty()) << command;
    EXPECT_THAT(texts_of(at_far()), ElementsAre(text_of(out))) << command;
    other_->read(0);
  }
}

// With its rules gone, frames of an engine that is still there find nothing.
TEST_P(RocePortTrafficTest, WithoutItsRulesItReachesNothing) {
  ASSERT_EQ(std::system("tc qdisc del dev pvr-db1 clsact"), 0);
  EXPECT_TRUE(port_->write(arp_reply(kBroadcast, kGuestMac)));
  EXPECT_TRUE(port_->write(ipv4_frame(kBroadcast, kGuestMac, {})));
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  EXPECT_THAT(texts_of(at_port()), IsEmpty());
}

TEST_P(RocePortTrafficTest, WorksAgainAfterItsTapWasDeletedAndOpenedAnew) {
  ASSERT_TRUE(network_.ip("link del pvr-db1"));
  EXPECT_TRUE(far_->write(ipv4_frame(kGuestMac, kFarMac, {})));  // the port is gone
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  tie();
  auto port = open_roce_port(kOwner, "pvr-db1");
  ASSERT_TRUE(port) << port.error().message;
  port_.emplace(std::move(port->tap), header_);
  settle();
  const Frame in = ipv4_frame(kGuestMac, kFarMac, {});
  EXPECT_TRUE(far_->write(in));
  EXPECT_THAT(texts_of(at_port()), ElementsAre(text_of(in)));
}

TEST_P(RocePortTrafficTest, TheGuestHasItsRoceBackAfterThePortWasRemoved) {
  ASSERT_TRUE(remove_roce_port(kOwner, "pvr-db1", "pv-db1"));
  const Frame in = ipv4_frame(kGuestMac, kFarMac, {});
  EXPECT_TRUE(far_->write(in));
  EXPECT_THAT(texts_of(at_guest()), ElementsAre(text_of(in)));
}

// The kernel fills in a checksum after the rules have looked, but not over what tells whose the
// frame is.
TEST_P(RocePortTrafficTest, NoChecksumGoesOverTheAddressesOrTheType) {
  if (header_ == 0) GTEST_SKIP() << "frames have no headers";
  for (std::uint16_t at = 0; at < 20; at += 2) {
    const VnetHeader header{.flags = 1, .checksum_offset = at};
    Frame whole(kHeader);
    std::memcpy(whole.data(), &header, sizeof header);
    const Frame frame = roce_v1_frame(kBroadcast, kGuestMac);
    whole.insert(whole.end(), frame.begin(), frame.end());
    EXPECT_FALSE(port_->write_whole(whole)) << at;
  }
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
}

void expect_packets(const std::vector<Frame>& packets, const Frame& whole) {
  const std::size_t begin = kHeader + 42;
  const std::size_t payload = whole.size() - begin;
  ASSERT_EQ(packets.size(), (payload + kSegment - 1) / kSegment);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const Frame& packet = packets[i];
    const std::size_t bytes = std::min<std::size_t>(kSegment, payload - i * kSegment);
    ASSERT_EQ(packet.size(), 42 + bytes) << i;
    EXPECT_EQ(get16(packet, 16), 28 + bytes) << i;  // length of IPv4
    EXPECT_EQ(get16(packet, 18), 100 + i) << i;     // its ID rises
    EXPECT_EQ(get16(packet, 38), 8 + bytes) << i;   // length of UDP
    EXPECT_EQ(checksum_of(packet, 14, 34), 0xFFFF) << i;
    const auto pseudo = static_cast<std::uint32_t>(17 + 8 + bytes);
    EXPECT_EQ(checksum_of(packet, 26, packet.size(), pseudo), 0xFFFF) << i;
    EXPECT_TRUE(std::equal(packet.begin() + 42, packet.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(begin + i * kSegment)));
  }
}

TEST_P(RocePortTrafficTest, ASuperframeComesOutCutIntoPackets) {
  if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
  for (const std::size_t payload : {std::size_t{5} * kSegment, std::size_t{61} * kSegment + 100}) {
    const Frame whole = superframe(payload);
    ASSERT_TRUE(port_->write_whole(whole)) << payload;
    expect_packets(at_far(), whole);
    other_->read(0);
  }
  EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), 0u);
}

// The port of another adapter on the same bridge takes it in one piece.
TEST_P(RocePortTrafficTest, ASuperframeStaysWholeOnItsWayToAnotherPort) {
  if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
  ASSERT_TRUE(network_.ip("link set far alias paravane:1:db2"));
  const WantedRocePort second{.name = "pvr-db2", .guest_tap = "far", .mac = kFarMac, .mtu = 1500};
  ASSERT_THAT(ensure_roce_port(kOwner, second)->problems, IsEmpty());
  auto opened = open_roce_port(kOwner, "pvr-db2");
  ASSERT_TRUE(opened) << opened.error().message;
  // What a holder before this one may have done.
  ASSERT_EQ(::ioctl(opened->tap.get(), TUNSETOFFLOAD, 0UL), 0);
  opened->tap.reset();
  opened = open_roce_port(kOwner, "pvr-db2");
  ASSERT_TRUE(opened) << opened.error().message;
  const TapEnd end(std::move(opened->tap), kHeader);
  const Frame hello = ipv4_frame(kBroadcast, kGuestMac, {.payload = 3});
  std::optional<Frame> got;
  for (int i = 0; i < 500 && !got; ++i) {
    port_->write(hello);
    got = end.read(10);
  }
  while (end.read(0)) continue;
  const Frame whole = superframe(20 * kSegment);
  ASSERT_TRUE(port_->write_whole(whole));
  got = end.read(5000);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->size(), whole.size());
  VnetHeader header;
  std::memcpy(&header, got->data(), sizeof header);
  EXPECT_EQ(header.segmentation, 5);
  EXPECT_EQ(header.segment_bytes, kSegment);
  EXPECT_TRUE(std::equal(got->begin() + kHeader + 42, got->end(), whole.begin() + kHeader + 42));
}

// A superframe with another's address is no less refused.
TEST_P(RocePortTrafficTest, ASuperframeIsJudgedByItsHeaders) {
  if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
  Frame whole = superframe(5 * kSegment);
  whole[kHeader + 6] ^= 4;
  const std::uint64_t before = refused_frames(kOwner, "pvr-db1").value();
  ASSERT_TRUE(port_->write_whole(whole));
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
  EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), before + 1);
}

}  // namespace
}  // namespace paravane::ethernet::port_traffic
