#include "wire/infiniband/datagram.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/infiniband/local_route.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::wire::infiniband {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Gid kSender{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8};
constexpr Gid kGroup{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr std::size_t kRouteBytes = 8;
constexpr std::size_t kMostPayload = 4096;

DatagramHeaders headers_with(bool global, bool immediate) {
  DatagramHeaders headers{.source = 0x1234,
                          .destination = 0xC001,
                          .lane = 2,
                          .service_level = 3,
                          .partition = 0x8001,
                          .is_solicited = true,
                          .packet_number = 0xAB'CDEF,
                          .qkey = 0x1122'3344,
                          .source_qp = 0x456,
                          .destination_qp = 0xFF'FFFF};
  if (global) {
    headers.global = GlobalRoute{.source = kSender,
                                 .destination = kGroup,
                                 .flow_label = 0x1'2345,
                                 .traffic_class = 0x20,
                                 .hop_limit = 9};
  }
  if (immediate) headers.immediate = 0xDEAD'BEEF;
  return headers;
}

Bytes payload_with(std::size_t size) {
  Bytes payload(size);
  for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<std::byte>(i * 7 + 1);
  return payload;
}

Bytes written(const DatagramHeaders& headers, std::span<const std::byte> payload) {
  Bytes packet = payload_with(99);  // what it replaces
  write_datagram(headers, payload, packet);
  return packet;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

// Without spaces, in which the expectation is written for readers.
std::string plain_hex(std::string_view text) {
  std::string hex(text);
  std::erase(hex, ' ');
  return hex;
}

void set_byte(Bytes& packet, std::size_t at, std::uint8_t value) {
  packet[at] = std::byte{value};
}
// The length that a local route header states, so that only what is meant is wrong.
Bytes with_right_length(Bytes packet) {
  const std::size_t words = (packet.size() + kInvariantCrcBytes) / 4;
  set_byte(packet, 4, static_cast<std::uint8_t>(words >> 8));
  set_byte(packet, 5, static_cast<std::uint8_t>(words));
  return packet;
}

DatagramRefusal refusal_of(std::span<const std::byte> packet) {
  const auto read = read_datagram(packet);
  EXPECT_FALSE(read.has_value());
  return read ? DatagramRefusal{0xFF} : read.error();
}

// ---- Bytes, from the tables of 7.7 (LRH), 9.2 (BTH), 9.3.3 (DETH) and 8.3 (GRH) ----

TEST(InfinibandDatagramTest, PlainPacketByteForByte) {
  const DatagramHeaders headers{.source = 1,
                                .destination = 5,
                                .lane = 15,
                                .packet_number = 0x10,
                                .source_qp = 0,
                                .destination_qp = 0};
  const std::string_view text = "management";
  EXPECT_EQ(hex_of(written(headers, std::as_bytes(std::span(text)))),
            // LRH: VL 15, LVer 0; SL 0, LNH 2; DLID; 11 words with the ICRC; SLID
            plain_hex("f0 02 0005 000b 0001"
                      // BTH: UD SEND only; SE 0, M 0, pad 2, TVer 0; P_Key; QP 0; A 0, PSN
                      "64 20 ffff 00 000000 00 000010"
                      // DETH: Q_Key; source QP
                      "00000000 00 000000"
                      "6d616e6167656d656e74 0000"));
}

TEST(InfinibandDatagramTest, PacketWithAllHeadersByteForByte) {
  const std::string_view text = "hello";
  EXPECT_EQ(hex_of(written(headers_with(true, true), std::as_bytes(std::span(text)))),
            plain_hex("20 33 c001 0015 1234"
                      // GRH: IPVer 6, TClass, flow label; bytes up to the ICRC; 0x1B; hop limit
                      "6 20 12345 0024 1b 09"
                      "fe80000000000000 0002030405060708"
                      "ff12401bffff0000 00000000ffffffff"
                      "65 b0 8001 00 ffffff 00 abcdef"
                      "11223344 00 000456"
                      "deadbeef"
                      "68656c6c6f 000000"));
}

// ---- There and back ----

TEST(InfinibandDatagramTest, WhatIsWrittenIsReadAgainWhateverItsSize) {
  for (const auto& [global, immediate] : {std::pair(false, false), std::pair(false, true),
                                          std::pair(true, false), std::pair(true, true)}) {
    const DatagramHeaders headers = headers_with(global, immediate);
    for (std::size_t size = 0; size <= kMostPayload; ++size) {
      const Bytes payload = payload_with(size);
      const Bytes packet = written(headers, payload);
      ASSERT_EQ(packet.size() % 4, 0u);
      const auto read = read_datagram(packet);
      ASSERT_TRUE(read.has_value())
          << size << (global ? " global" : "") << (immediate ? " immediate" : "");
      ASSERT_EQ(read->headers, headers);
      ASSERT_TRUE(std::ranges::equal(read->payload, payload));
    }
  }
}

TEST(InfinibandDatagramTest, NumbersAtTheirEnds) {
  DatagramHeaders headers{
      .source = 0xFFFF,
      .destination = 0xFFFF,
      .lane = 15,
      .service_level = 15,
      .global = GlobalRoute{.flow_label = 0xF'FFFF, .traffic_class = 0xFF, .hop_limit = 0xFF},
      .partition = 0,
      .packet_number = 0xFF'FFFF,
      .qkey = 0xFFFF'FFFF,
      .source_qp = 0xFF'FFFF,
      .destination_qp = 0xFF'FFFF,
      .immediate = 0};
  const Bytes packet = written(headers, {});
  const auto read = read_datagram(packet);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->headers, headers);
}

// ---- What is refused ----

TEST(InfinibandDatagramTest, EveryPacketThatIsCutShortIsRefused) {
  for (const bool global : {false, true}) {
    const Bytes whole = written(headers_with(global, true), payload_with(9));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(refusal_of(std::span(whole).first(size)), DatagramRefusal::kShort) << size;
      // Also where the length is that of what is left, unless the rest is a packet as well.
      if (size % 4 != 0 || size < kRouteBytes) continue;
      const Bytes cut = with_right_length(Bytes(whole.begin(), whole.begin() + long(size)));
      const std::size_t headers = kLeastDatagramBytes + 4 + (global ? kGlobalRouteBytes : 0);
      if (size < headers && !(global && size >= headers - 4)) {
        EXPECT_EQ(refusal_of(cut), DatagramRefusal::kShort) << size;
      }
    }
  }
}

TEST(InfinibandDatagramTest, APacketThatEndsBeforeItsImmediateIsShort) {
  const Bytes whole = written(headers_with(false, true), {});
  const Bytes cut = with_right_length(Bytes(whole.begin(), whole.end() - 4));
  EXPECT_EQ(refusal_of(cut), DatagramRefusal::kShort);
}

TEST(InfinibandDatagramTest, APacketThatIsLongerThanItStatesIsRefused) {
  Bytes packet = written(headers_with(false, false), payload_with(8));
  packet.resize(packet.size() + 4);
  EXPECT_EQ(refusal_of(packet), DatagramRefusal::kLong);
  packet = written(headers_with(true, false), payload_with(8));
  packet.resize(packet.size() + 4);
  // The GRH states the old length now.
  EXPECT_EQ(refusal_of(with_right_length(packet)), DatagramRefusal::kLong);
}

TEST(InfinibandDatagramTest, ALengthInItsReservedBitsIsNotRead) {
  Bytes packet = written(headers_with(false, false), payload_with(8));
  packet[4] |= std::byte{0xF8};
  EXPECT_TRUE(read_datagram(packet).has_value());
}

TEST(InfinibandDatagramTest, AGlobalRouteOfAnotherLengthThanItsPacketIsRefused) {
  Bytes packet = written(headers_with(true, false), payload_with(8));
  set_byte(packet, kRouteBytes + 5, 0x10);
  EXPECT_EQ(refusal_of(packet), DatagramRefusal::kLong);
  set_byte(packet, kRouteBytes + 4, 0x10);
  EXPECT_EQ(refusal_of(packet), DatagramRefusal::kShort);
}

TEST(InfinibandDatagramTest, APayloadOfMoreThanTheGreatestMtuIsRefused) {
  Bytes packet = written(headers_with(false, false), payload_with(kMostPayload));
  for (int i = 0; i < 11; ++i) {
    packet.resize(packet.size() + 4);
    EXPECT_EQ(refusal_of(with_right_length(packet)), DatagramRefusal::kLong) << i;
  }
  packet.resize(1U << 16);
  EXPECT_EQ(refusal_of(packet), DatagramRefusal::kLong);
}

TEST(InfinibandDatagramTest, OtherVersionsAreRefused) {
  const Bytes good = written(headers_with(true, false), payload_with(8));
  Bytes link = good;
  link[0] |= std::byte{1};
  EXPECT_EQ(refusal_of(link), DatagramRefusal::kVersion);
  Bytes network = good;
  set_byte(network, kRouteBytes, 0x42);
  EXPECT_EQ(refusal_of(network), DatagramRefusal::kVersion);
  Bytes transport = good;
  transport[kRouteBytes + kGlobalRouteBytes + 1] |= std::byte{1};
  EXPECT_EQ(refusal_of(transport), DatagramRefusal::kVersion);
}

TEST(InfinibandDatagramTest, PacketsWithoutATransportAreRefused) {
  Bytes packet = written(headers_with(false, false), payload_with(64));
  for (const NextHeader raw : {NextHeader::kRaw, NextHeader::kIpv6Raw}) {
    set_byte(packet, 1, static_cast<std::uint8_t>(raw));
    EXPECT_EQ(refusal_of(packet), DatagramRefusal::kNoTransport);
  }
  Bytes global = written(headers_with(true, false), payload_with(64));
  set_byte(global, kRouteBytes + 6, 17);
  EXPECT_EQ(refusal_of(global), DatagramRefusal::kNoTransport);
}

TEST(InfinibandDatagramTest, OtherOpcodesAreRefused) {
  Bytes packet = written(headers_with(false, false), payload_with(64));
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    set_byte(packet, kRouteBytes, static_cast<std::uint8_t>(opcode));
    if (opcode == 0x64 || opcode == 0x65) {
      EXPECT_TRUE(read_datagram(packet).has_value());
    } else {
      EXPECT_EQ(refusal_of(packet), DatagramRefusal::kOpcode) << opcode;
    }
  }
}

TEST(InfinibandDatagramTest, MorePaddingThanPayloadIsRefused) {
  Bytes packet = written(headers_with(false, false), {});
  for (const std::uint8_t padding : std::initializer_list<std::uint8_t>{1, 2, 3}) {
    set_byte(packet, kRouteBytes + 1, static_cast<std::uint8_t>(padding << 4));
    EXPECT_EQ(refusal_of(packet), DatagramRefusal::kPadding);
  }
}

// ---- Anything ----

TEST(InfinibandDatagramTest, RandomBytesAreReadOrRefused) {
  std::mt19937 random(7);
  unsigned accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes packet(random() % 200);
    for (std::byte& byte : packet) byte = static_cast<std::byte>(random());
    // Half of them get past the first checks.
    if (packet.size() >= kRouteBytes && packet.size() % 4 == 0 && random() % 2 == 0) {
      packet[0] &= std::byte{0xF0};
      packet = with_right_length(std::move(packet));
      packet[4] &= std::byte{0x07};
      if (packet.size() >= kLeastDatagramBytes)
        set_byte(packet, 8, static_cast<std::uint8_t>(0x64 + random() % 2));
    }
    const auto read = read_datagram(packet);
    if (!read) continue;
    ++accepted;
    ASSERT_GE(read->payload.data(), packet.data());
    ASSERT_LE(read->payload.data() + read->payload.size(), packet.data() + packet.size());
    const Bytes again = written(read->headers, read->payload);
    const auto same = read_datagram(again);
    ASSERT_TRUE(same.has_value());
    ASSERT_EQ(same->headers, read->headers);
  }
  EXPECT_GT(accepted, 10u);
}

TEST(InfinibandDatagramTest, EachChangedBitIsReadOrRefused) {
  const Bytes good = written(headers_with(true, true), payload_with(20));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes packet = good;
    packet[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto read = read_datagram(packet);
    EXPECT_LE(read ? read->payload.size() : 0, kMostPayload);
  }
}

// ---- LIDs, keys, MTUs ----

TEST(LocalRouteTest, KindsOfLids) {
  EXPECT_FALSE(is_unicast_lid(0));
  EXPECT_TRUE(is_unicast_lid(1));
  EXPECT_TRUE(is_unicast_lid(0xBFFF));
  EXPECT_FALSE(is_unicast_lid(0xC000));
  EXPECT_TRUE(is_multicast_lid(0xC000));
  EXPECT_TRUE(is_multicast_lid(0xFFFE));
  EXPECT_FALSE(is_multicast_lid(0xFFFF));
  EXPECT_FALSE(is_unicast_lid(0xFFFF));
}

TEST(PartitionKeyTest, TwoLimitedMembersDoNotTalk) {
  EXPECT_TRUE(let_pass(0x8001, 0x8001));
  EXPECT_TRUE(let_pass(0x8001, 0x0001));
  EXPECT_TRUE(let_pass(0x0001, 0x8001));
  EXPECT_FALSE(let_pass(0x0001, 0x0001));
  EXPECT_FALSE(let_pass(0x8001, 0x8002));
  EXPECT_FALSE(let_pass(0x8000, 0x8000));  // 10.9.1: an invalid key
  EXPECT_FALSE(let_pass(0, 0));
  EXPECT_TRUE(let_pass(0xFFFF, 0x7FFF));
}

TEST(MtuTest, NumbersOfTheProtocol) {
  EXPECT_EQ(bytes_of(Mtu::k256), 256u);
  EXPECT_EQ(bytes_of(Mtu::k2048), 2048u);
  EXPECT_EQ(bytes_of(Mtu::k4096), 4096u);
}

}  // namespace
}  // namespace paravane::wire::infiniband
