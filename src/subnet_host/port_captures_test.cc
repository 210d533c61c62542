#include "subnet_host/port_captures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testing/subnet_rig.h"
#include "text/erf.h"
#include "wire/infiniband/checksums.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/local_route.h"

namespace paravane::subnet_host {
namespace {

using std::chrono::seconds;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::read_datagram;

class PortCapturesTest : public testing::Test {
 protected:
  struct Shown {
    capture::PacketInfo info;
    std::vector<std::byte> bytes;
    std::span<const std::byte> packet() const {
      return std::span(bytes).subspan(text::erf::kHeaderBytes);
    }
    std::span<const std::byte> without_end() const {
      return packet().first(packet().size() - wire::infiniband::kMostEndBytes);
    }
    std::uint16_t field(std::size_t at) const {
      return static_cast<std::uint16_t>((std::to_integer<unsigned>(bytes[at]) << 8) |
                                        std::to_integer<unsigned>(bytes[at + 1]));
    }
  };

  std::shared_ptr<capture::Capture> start(std::uint64_t id, std::uint32_t snaplen = 0) {
    auto capture = std::make_shared<capture::Capture>(
        id, model::CaptureSpec{.uplink = "vmnic32", .snaplen = snaplen},
        std::vector<std::string>{"vmnic32"}, rig_.clock.now);
    captures_.start(capture, rig_.first, 1);
    return capture;
  }
  static std::vector<Shown> take(capture::Capture& capture) {
    std::vector<Shown> all;
    std::vector<std::byte> bytes;
    while (const auto info = capture.ring().take(bytes)) all.push_back({*info, bytes});
    return all;
  }
  DatagramHeaders to_second(std::uint32_t queue_pair = 0x99) {
    return {.destination = rig_.second_lid(), .qkey = 7, .destination_qp = queue_pair};
  }
  void send(std::size_t bytes = 10) {
    EXPECT_TRUE(rig_.first.send(1, to_second(), std::vector<std::byte>(bytes)));
    EXPECT_TRUE(rig_.settle());
  }

  fake::SubnetRig rig_;
  PortCaptures captures_;
};

TEST_F(PortCapturesTest, ShowManagementThatThePortSendsAndReceives) {
  const auto capture = start(1);
  rig_.manager.sweep();
  unsigned sent = 0;
  unsigned received = 0;
  for (const Shown& one : take(*capture)) {
    const auto datagram = read_datagram(one.without_end());
    ASSERT_TRUE(datagram);
    if (datagram->headers.lane == wire::infiniband::kManagementLane)
      ++(one.info.is_outbound ? sent : received);
  }
  EXPECT_GT(sent, 5u);
  EXPECT_GT(received, 5u);
}

TEST_F(PortCapturesTest, ARecordHasThePacketAndItsChecksums) {
  const auto capture = start(1);
  send(10);
  const auto all = take(*capture);
  ASSERT_EQ(all.size(), 1u);
  const Shown& one = all[0];
  // Headers of 28 bytes, 10 of payload with 2 of padding, and 6 of checksums.
  constexpr std::uint16_t kOnWire = 28 + 12 + 6;
  EXPECT_TRUE(one.info.is_outbound);
  EXPECT_EQ(one.info.original_bytes, 16u + kOnWire);
  EXPECT_EQ(one.bytes.size(), 16u + kOnWire);
  EXPECT_EQ(one.bytes[8], std::byte{21});
  EXPECT_EQ(one.field(10), 16 + kOnWire);
  EXPECT_EQ(one.field(14), kOnWire);
  const auto datagram = read_datagram(one.without_end());
  ASSERT_TRUE(datagram);
  EXPECT_EQ(datagram->headers.destination, rig_.second_lid());
  const wire::infiniband::PacketEnd end(one.without_end());
  EXPECT_TRUE(std::ranges::equal(end.bytes(), one.packet().last(end.bytes().size())));
}

TEST_F(PortCapturesTest, KeepSoMuchOfEachPacket) {
  for (const std::uint32_t snaplen : {1u, 8u, 40u, 41u, 45u, 46u, 47u, 65535u}) {
    const auto capture = start(snaplen, snaplen);
    send(10);
    const auto all = take(*capture);
    ASSERT_EQ(all.size(), 1u);
    const std::size_t kept = std::min(snaplen, 46u);
    EXPECT_EQ(all[0].bytes.size(), 16 + kept);
    EXPECT_EQ(all[0].field(10), 16 + kept);
    EXPECT_EQ(all[0].field(14), 46) << "on the wire";
    EXPECT_EQ(all[0].info.original_bytes, 16u + 46u);
  }
}

// What arrives is shown though the port drops it.
TEST_F(PortCapturesTest, ShowMalformedPacketsThatArrive) {
  const auto capture = start(1);
  for (const std::size_t size : {0u, 1u, 7u, 8u, 27u, 60u}) {
    rig_.first.on_packet(1, subnet::Packet(size));
    const auto all = take(*capture);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_FALSE(all[0].info.is_outbound);
    // Zeros are a raw packet, which has no invariant checksum.
    EXPECT_EQ(all[0].bytes.size(), 16 + size + 2);
  }
}

TEST_F(PortCapturesTest, APacketThatIsTooLongIsCountedAlone) {
  const auto capture = start(1);
  rig_.first.on_packet(1, subnet::Packet(wire::infiniband::kMostPacketBytes));
  rig_.first.on_packet(1, subnet::Packet(wire::infiniband::kMostPacketBytes + 1));
  rig_.first.on_packet(1, subnet::Packet(1u << 20));
  EXPECT_EQ(take(*capture).size(), 1u);
  EXPECT_EQ(capture->status().interfaces.at(0).packets, 3u);
  EXPECT_EQ(capture->status().interfaces.at(0).dropped, 2u);
}

TEST_F(PortCapturesTest, WhatDoesNotFitIsCounted) {
  const auto capture = start(1);
  constexpr unsigned kPackets = 3000;
  for (unsigned i = 0; i < kPackets; ++i) rig_.first.on_packet(1, subnet::Packet(2000));
  const auto interface = capture->status().interfaces.at(0);
  EXPECT_EQ(interface.packets, kPackets);
  EXPECT_GT(interface.dropped, 0u);
  EXPECT_EQ(take(*capture).size(), kPackets - interface.dropped);
}

TEST_F(PortCapturesTest, ShowTheirPortAlone) {
  const auto capture = start(1);
  rig_.second.on_packet(1, subnet::Packet(100));
  EXPECT_TRUE(take(*capture).empty());
}

// Its own port is the way: it was sent, and then received.
TEST_F(PortCapturesTest, APacketToItsOwnPortIsShownTwice) {
  const auto capture = start(1);
  DatagramHeaders headers = to_second();
  headers.destination = rig_.first_lid();
  EXPECT_TRUE(rig_.first.send(1, headers, std::vector<std::byte>(4)));
  EXPECT_TRUE(rig_.settle());
  const auto all = take(*capture);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].info.is_outbound);
  EXPECT_FALSE(all[1].info.is_outbound);
  EXPECT_TRUE(std::ranges::equal(all[0].packet(), all[1].packet()));
}

TEST_F(PortCapturesTest, ANewOneTakesThePortOfAnOldOne) {
  const auto old = start(1);
  const auto young = start(2);
  EXPECT_TRUE(old->has_ended());
  captures_.end(1);
  send();
  EXPECT_TRUE(take(*old).empty());
  EXPECT_EQ(take(*young).size(), 1u);
}

TEST_F(PortCapturesTest, EndWithTheirAdapter) {
  const auto capture = start(1);
  captures_.forget(rig_.second);
  EXPECT_FALSE(capture->has_ended());
  captures_.forget(rig_.first);
  EXPECT_TRUE(capture->has_ended());
  send();
  EXPECT_TRUE(take(*capture).empty());
}

TEST_F(PortCapturesTest, EndWithoutAReader) {
  const auto capture = start(1);
  const Instant begun = rig_.clock.now;
  EXPECT_EQ(captures_.next_deadline(), begun + seconds(10));
  captures_.on_time(begun + seconds(10));
  EXPECT_TRUE(capture->has_ended());
  send();
  EXPECT_TRUE(take(*capture).empty());
  EXPECT_EQ(captures_.next_deadline(), kNever);
}

}  // namespace
}  // namespace paravane::subnet_host
