#include "wire/roce/superframe_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "testing/roce_frames.h"
#include "wire/roce/frame.h"
#include "wire/roce/superframe.h"

namespace paravane::wire::roce {
namespace {

Packet middle(Network network, std::uint32_t number, std::uint32_t bytes) {
  Packet packet = fake::packet_of(network, Opcode::kWriteMiddle, 7);
  packet.psn = number;
  packet.payload_bytes = bytes;
  return packet;
}

void write(SuperframeWriter& writer, const Packet& packet, std::uint32_t number) {
  ASSERT_TRUE(writer.takes(packet));
  const auto bytes = fake::payload_of(packet.payload_bytes, number);
  const std::span<std::byte> place = writer.add(packet);
  ASSERT_EQ(place.size(), bytes.size());
  std::ranges::copy(bytes, place.begin());
  writer.seal();
}

constexpr std::array kV2 = {Network::kV2Ipv4, Network::kV2Ipv6};

TEST(SuperframeWriter, WhatIsPutTogetherIsTakenApart) {
  for (const Network network : kV2) {
    SuperframeWriter writer(64);
    for (std::uint32_t i = 0; i < 15; ++i) write(writer, middle(network, i, 1024), i);
    write(writer, middle(network, 15, 13), 15);  // the last may be shorter, with padding
    EXPECT_FALSE(writer.takes(middle(network, 16, 13))) << "and is the last";

    const SuperframeWriter::Whole whole = writer.finish();
    EXPECT_EQ(whole.segment_bytes, sizeof(BaseHeader) + 1024 + kIcrcBytes);
    auto superframe = Superframe::open(whole.frame, whole.segment_bytes);
    ASSERT_TRUE(superframe.has_value());
    ASSERT_EQ(superframe->segments(), 16u);
    for (std::uint32_t i = 0; i < 16; ++i) {
      const auto frame = *superframe->next();
      ASSERT_TRUE(frame.has_value()) << i << ": " << static_cast<int>(frame.error());
      Packet expected = middle(network, i, i < 15 ? 1024 : 13);
      if (network == Network::kV2Ipv4) {
        expected.identification = static_cast<std::uint16_t>(expected.identification + i);
      }
      EXPECT_EQ(frame->packet, expected) << i;
      EXPECT_TRUE(std::ranges::equal(frame->payload, fake::payload_of(expected.payload_bytes, i)));
    }
  }
}

// The sum that the kernel completes for each datagram: over the pseudo header with the length of
// the whole.
TEST(SuperframeWriter, TheChecksumIsThatOfThePseudoHeader) {
  SuperframeWriter writer(64);
  Packet packet = middle(Network::kV2Ipv4, 0, 256);
  packet.route.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1};
  packet.route.destination = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2};
  for (std::uint32_t i = 0; i < 2; ++i) write(writer, packet, i);
  const SuperframeWriter::Whole whole = writer.finish();
  EXPECT_EQ(whole.udp_at, 34u);
  const std::uint32_t udp_bytes = 8 + 2 * (12 + 256 + 4);
  const std::uint32_t sum = 0x0A00 + 1 + 0x0A00 + 2 + 17 + udp_bytes;
  UdpHeader udp;
  std::memcpy(&udp, whole.frame.data() + whole.udp_at, sizeof udp);
  EXPECT_EQ(udp.checksum.get(), sum);
  EXPECT_EQ(udp.length.get(), udp_bytes);
}

TEST(SuperframeWriter, APacketAloneIsAFrameAsItIs) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    SuperframeWriter writer(64);
    const Packet packet = middle(network, 3, 100);
    write(writer, packet, 3);
    const SuperframeWriter::Whole whole = writer.finish();
    EXPECT_EQ(whole.segment_bytes, 0u);
    EXPECT_TRUE(std::ranges::equal(whole.frame, fake::frame_of(packet, fake::payload_of(100, 3))));
  }
}

TEST(SuperframeWriter, WhatDiffersDoesNotJoin) {
  SuperframeWriter writer(3);
  const Packet packet = middle(Network::kV2Ipv4, 0, 512);
  write(writer, packet, 0);
  Packet longer = packet;
  longer.payload_bytes = 516;
  EXPECT_FALSE(writer.takes(longer));
  Packet elsewhere = packet;
  elsewhere.route.destination[15] ^= 1;
  EXPECT_FALSE(writer.takes(elsewhere));
  Packet marked = packet;
  marked.route.traffic_class ^= 1;
  EXPECT_FALSE(writer.takes(marked));
  write(writer, packet, 1);
  write(writer, packet, 2);
  EXPECT_FALSE(writer.takes(packet)) << "as many as it may have";
  writer.clear();
  EXPECT_TRUE(writer.takes(longer));

  SuperframeWriter of_v1(64);
  write(of_v1, middle(Network::kV1, 0, 512), 0);
  EXPECT_FALSE(of_v1.takes(middle(Network::kV1, 1, 512))) << "no segmentation of RoCE v1";
}

TEST(SuperframeWriter, AFrameIsAsLongAsIpAllows) {
  for (const Network network : kV2) {
    SuperframeWriter writer(1000);
    std::uint32_t count = 0;
    while (writer.takes(middle(network, count, 4096)))
      write(writer, middle(network, count, 4096), count), ++count;
    EXPECT_EQ(count, 15u);
    auto superframe =
        Superframe::open(writer.finish().frame, sizeof(BaseHeader) + 4096 + kIcrcBytes);
    ASSERT_TRUE(superframe.has_value());
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE((*superframe->next()).has_value());
  }
}

TEST(SuperframeWriter, APacketThatIsTakenBackLeavesNothing) {
  SuperframeWriter writer(64);
  const Packet packet = middle(Network::kV2Ipv4, 0, 512);
  static_cast<void>(writer.add(packet));
  writer.take_back();
  EXPECT_TRUE(writer.empty());
  write(writer, packet, 0);
  static_cast<void>(writer.add(packet));
  writer.take_back();
  EXPECT_EQ(writer.packets(), 1u);
  EXPECT_TRUE(
      std::ranges::equal(writer.finish().frame, fake::frame_of(packet, fake::payload_of(512, 0))));
}

}  // namespace
}  // namespace paravane::wire::roce
