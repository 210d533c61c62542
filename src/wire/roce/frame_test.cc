// Frames that are accepted, and what they are taken for.

#include "wire/roce/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "testing/roce_frames.h"

namespace paravane::wire::roce {
namespace {

using fake::frame_of;
using fake::FrameBytes;
using fake::packet_of;
using fake::payload_of;

constexpr Network kNetworks[] = {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6};

FrameBytes bytes_of_hex(std::string_view text) {
  FrameBytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(std::byte(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// The packets of others have no Ethernet header in icrc_test.cc.
FrameBytes over_ethernet(std::string_view ip_packet) {
  return bytes_of_hex("525400770002525400770001" + std::string("0800") + std::string(ip_packet));
}

FrameBytes with_tag(const FrameBytes& frame, std::uint16_t control) {
  FrameBytes tagged = frame;
  const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte(control >> 8),
                           std::byte(control & 0xFF)};
  tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
  return tagged;
}

void expect_is(const FrameBytes& bytes, Packet packet, const FrameBytes& payload) {
  const auto frame = parse_frame(bytes);
  ASSERT_TRUE(frame.has_value()) << "fault " << static_cast<int>(frame.error());
  packet.payload_bytes = static_cast<std::uint32_t>(payload.size());
  EXPECT_EQ(frame->packet, packet);
  EXPECT_TRUE(std::ranges::equal(frame->payload, payload));
  if (!frame->payload.empty()) {
    EXPECT_GE(frame->payload.data(), bytes.data());
    EXPECT_LE(frame->payload.data() + frame->payload.size(), bytes.data() + bytes.size());
  }
}

TEST(FrameTest, OfEveryKindIsWhatWasWritten) {
  std::uint32_t number = 0;
  for (const Network network : kNetworks) {
    for (const Opcode opcode : fake::all_opcodes()) {
      for (const std::size_t bytes : {0u, 1u, 2u, 3u, 4u, 5u, 63u, 1024u, 4095u, 4096u}) {
        if (bytes > 0 && !carries_payload(opcode)) continue;
        SCOPED_TRACE(testing::Message() << static_cast<int>(network) << ' '
                                        << static_cast<int>(opcode) << ' ' << bytes);
        const Packet packet = packet_of(network, opcode, ++number);
        const FrameBytes payload = payload_of(bytes, number);
        expect_is(frame_of(packet, payload), packet, payload);
      }
    }
  }
  EXPECT_EQ(fake::all_opcodes().size(), 28u);
}

TEST(FrameTest, IsReadWhereverItLies) {
  const Packet packet = packet_of(Network::kV2Ipv6, Opcode::kWriteOnlyImm, 5);
  const FrameBytes payload = payload_of(100, 5);
  const FrameBytes bytes = frame_of(packet, payload);
  for (std::size_t at = 0; at < 8; ++at) {
    FrameBytes moved(at);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    const auto frame = parse_frame(std::span(moved).subspan(at));
    ASSERT_TRUE(frame.has_value());
    EXPECT_TRUE(std::ranges::equal(frame->payload, payload));
  }
}

// The packets of icrc_test.cc, with their CRC.
TEST(FrameTest, OfRealAdapters) {
  const FrameBytes notification = over_ethernet(
      "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff400001180000000000000000"
      "00000000000000000000000082fd002a");
  const auto frame = parse_frame(notification);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->packet.opcode, Opcode::kCongestionNotification);
  EXPECT_TRUE(frame->packet.becn);
  EXPECT_FALSE(frame->packet.fecn);
  EXPECT_FALSE(frame->packet.migrated);
  EXPECT_EQ(frame->packet.destination_qp, 0x118u);
  EXPECT_EQ(frame->packet.identification, 0x718C);
  EXPECT_EQ(frame->packet.route.hop_limit, 0x40);
  EXPECT_EQ(frame->packet.route.source,
            (GidBytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 17, 1}));
  EXPECT_EQ(ecn_of(frame->packet.route.traffic_class), Ecn::kCapable0);
  EXPECT_TRUE(frame->payload.empty());

  // The other one is of a service that Paravane does not have (0x22, of an unreliable connection).
  const auto unreliable = parse_frame(
      over_ethernet("45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000"
                    "d300cf17104630818be28935d90e9a95505401be885e50000078f353f3"));
  ASSERT_FALSE(unreliable.has_value());
  EXPECT_EQ(unreliable.error(), FrameFault::kUnknownOpcode);
}

TEST(FrameTest, TellsWhatRoutersSayAboutCongestion) {
  for (const Network network : kNetworks) {
    for (const Ecn ecn :
         {Ecn::kNotCapable, Ecn::kCapable1, Ecn::kCapable0, Ecn::kCongestionExperienced}) {
      Packet packet = packet_of(network, Opcode::kSendOnly, 1);
      packet.route.traffic_class = static_cast<std::uint8_t>(0xA8 | static_cast<unsigned>(ecn));
      const auto frame = parse_frame(frame_of(packet, {}));
      ASSERT_TRUE(frame.has_value());
      EXPECT_EQ(ecn_of(frame->packet.route.traffic_class), ecn);
    }
  }
}

TEST(FrameTest, MayBePaddedToTheSmallestFrame) {
  const Packet packet = packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 3);
  FrameBytes frame = frame_of(packet, {});
  ASSERT_EQ(frame.size(), kMinFrameBytes - 2);
  while (frame.size() < kMinFrameBytes) {
    frame.push_back(std::byte{0xA5});
    expect_is(frame, packet, {});
  }
  frame.push_back(std::byte{0});
  ASSERT_FALSE(parse_frame(frame).has_value());
  EXPECT_EQ(parse_frame(frame).error(), FrameFault::kBadLength);
}

TEST(FrameTest, MayHaveAPriorityTag) {
  for (const Network network : kNetworks) {
    const Packet packet = packet_of(network, Opcode::kDatagramOnly, 4);
    const FrameBytes payload = payload_of(9, 4);
    const FrameBytes frame = frame_of(packet, payload);
    for (const unsigned control : {0x0000u, 0x6000u, 0xF000u}) {
      expect_is(with_tag(frame, static_cast<std::uint16_t>(control)), packet, payload);
    }
    for (const unsigned control : {0x0001u, 0x6FFFu, 0x0800u}) {
      const auto other = parse_frame(with_tag(frame, static_cast<std::uint16_t>(control)));
      ASSERT_FALSE(other.has_value());
      EXPECT_EQ(other.error(), FrameFault::kNotRoce);
    }
    const auto twice = parse_frame(with_tag(with_tag(frame, 0), 0));
    ASSERT_FALSE(twice.has_value());
    EXPECT_EQ(twice.error(), FrameFault::kNotRoce);
  }
}

// A switch tags the frame that was padded before.
TEST(FrameTest, MayHaveATagAndPadding) {
  const Packet packet = packet_of(Network::kV2Ipv4, Opcode::kWriteLast, 6);
  FrameBytes frame = frame_of(packet, {});
  frame.resize(kMinFrameBytes);
  FrameBytes tagged = with_tag(frame, 0xA000);
  expect_is(tagged, packet, {});
  tagged.push_back(std::byte{0});
  EXPECT_FALSE(parse_frame(tagged).has_value());
}

TEST(FrameTest, MayHaveAnyReservedBitAndAnyPadding) {
  for (const Network network : kNetworks) {
    const Packet packet = packet_of(network, Opcode::kDatagramOnlyImm, 7);
    const FrameBytes payload = payload_of(5, 7);
    FrameBytes frame = frame_of(packet, payload);
    const std::size_t base = fake::base_at(network);
    frame[base + offsetof(BaseHeader, ack_request)] |= std::byte{0x7F};
    frame[base + sizeof(BaseHeader) + offsetof(DatagramHeader, reserved)] = std::byte{0xFF};
    for (std::size_t i = 0; i < 3; ++i) frame[frame.size() - kIcrcBytes - 1 - i] = std::byte{0xEE};
    ASSERT_FALSE(parse_frame(frame).has_value());
    EXPECT_EQ(parse_frame(frame).error(), FrameFault::kBadIcrc);
    fake::mend_icrc(network, frame);
    expect_is(frame, packet, payload);
  }
}

TEST(FrameTest, MayGoToAnyDestination) {
  Packet packet = packet_of(Network::kV2Ipv4, Opcode::kDatagramOnly, 8);
  packet.route.destination_mac = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  packet.route.destination[12] = 224;
  packet.destination_qp = 0xFFFFFF;
  expect_is(frame_of(packet, {}), packet, {});

  packet = packet_of(Network::kV2Ipv6, Opcode::kDatagramOnly, 8);
  packet.route.destination_mac = {0x33, 0x33, 0, 0, 0, 1};
  packet.route.destination[0] = 0xFF;
  expect_is(frame_of(packet, {}), packet, {});
}

// Linux has them for version 1 too.
TEST(FrameTest, OfVersion1MayHaveIpv4AddressesAsGids) {
  Packet packet = packet_of(Network::kV1, Opcode::kSendOnly, 9);
  const Packet other = packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 9);
  packet.route.source = other.route.source;
  packet.route.destination = other.route.destination;
  expect_is(frame_of(packet, {}), packet, {});
}

}  // namespace
}  // namespace paravane::wire::roce
