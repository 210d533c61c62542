#include "neighbour/solicitation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ipoib/checksum.h"

namespace paravane::neighbour {
namespace {

constexpr Address kTarget{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xFF, 0xFE, 0x11, 0x22, 0x33};
constexpr Address kAsker{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xFF, 0xFE, 0, 0, 7};
constexpr MacBytes kAskerMac{2, 0, 0, 0, 0, 7};

Station station() {
  return {.mac = {2, 0, 0, 0x11, 0x22, 0x33}, .link_local = kTarget};
}
Station asker() {
  return {.mac = kAskerMac, .link_local = kAsker};
}

ipoib::EthernetFrame frame_of(const std::vector<std::byte>& bytes) {
  const auto frame = ipoib::read_frame(bytes);
  EXPECT_TRUE(frame);
  return frame.value_or(ipoib::EthernetFrame{});
}

// What belongs into the message's checksum after a test has changed it.
void mend_checksum(std::vector<std::byte>& bytes) {
  Address source{}, destination{};
  for (std::size_t i = 0; i < 16; ++i) {
    source[i] = std::to_integer<std::uint8_t>(bytes[14 + 8 + i]);
    destination[i] = std::to_integer<std::uint8_t>(bytes[14 + 24 + i]);
  }
  bytes[56] = bytes[57] = std::byte{0};
  const std::uint16_t sum =
      ipoib::icmpv6_checksum(source, destination, std::span(bytes).subspan(54));
  bytes[56] = static_cast<std::byte>(sum >> 8);
  bytes[57] = static_cast<std::byte>(sum & 0xFF);
}

TEST(Solicitation, AsksTheGroupOfTheTarget) {
  const auto bytes = solicitation_of(asker(), kTarget);
  ASSERT_EQ(bytes.size(), 14u + 40 + 24 + 8);
  const auto frame = frame_of(bytes);
  EXPECT_EQ(frame.destination, (MacBytes{0x33, 0x33, 0xFF, 0x11, 0x22, 0x33}));
  EXPECT_EQ(frame.source, kAskerMac);
  EXPECT_EQ(read_solicitation(frame), (Solicitation{.source = kAsker, .target = kTarget}));
  EXPECT_EQ(read_advertisement(frame), std::nullopt);
}

TEST(Solicitation, AnAnswerTellsTheMac) {
  const auto bytes = advertisement_of(station(), {.source = kAsker, .target = kTarget}, kAskerMac);
  const auto frame = frame_of(bytes);
  EXPECT_EQ(frame.destination, kAskerMac);
  EXPECT_EQ(bytes[58], std::byte{0x60}) << "solicited, and overrides";
  const auto told = read_advertisement(frame);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->target, kTarget);
  EXPECT_EQ(told->mac, station().mac);
}

TEST(Solicitation, AProbeIsAnsweredToAll) {
  const auto bytes = advertisement_of(station(), {.source = {}, .target = kTarget}, kAskerMac);
  const auto frame = frame_of(bytes);
  EXPECT_EQ(frame.destination, (MacBytes{0x33, 0x33, 0, 0, 0, 1}));
  EXPECT_EQ(bytes[58], std::byte{0x20}) << "not solicited";
  EXPECT_TRUE(read_advertisement(frame));
}

TEST(Solicitation, WhatRfc4861IgnoresIsIgnored) {
  const auto good = solicitation_of(asker(), kTarget);
  const auto is_read = [&](const auto& change) {
    auto bytes = good;
    change(bytes);
    mend_checksum(bytes);
    return read_solicitation(frame_of(bytes)).has_value();
  };
  EXPECT_TRUE(is_read([](auto&) {}));
  EXPECT_FALSE(is_read([](auto& bytes) { bytes[14 + 7] = std::byte{64}; })) << "hop limit";
  EXPECT_FALSE(is_read([](auto& bytes) { bytes[55] = std::byte{1}; })) << "code";
  EXPECT_FALSE(is_read([](auto& bytes) { bytes[14 + 6] = std::byte{17}; })) << "no ICMPv6";
  EXPECT_FALSE(is_read([](auto& bytes) { bytes[62] = std::byte{0xFF}; })) << "target: a group";
  EXPECT_FALSE(is_read([](auto& bytes) { bytes[79] = std::byte{0}; })) << "option of length 0";
  EXPECT_FALSE(is_read([](auto& bytes) { bytes[79] = std::byte{2}; })) << "beyond the end";
  auto bytes = good;
  bytes[57] ^= std::byte{1};
  EXPECT_FALSE(read_solicitation(frame_of(bytes))) << "checksum";
  for (std::size_t length = 14; length < good.size(); ++length) {
    const std::vector<std::byte> part(good.begin(),
                                      good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(read_solicitation(frame_of(part))) << length;
  }
}

}  // namespace
}  // namespace paravane::neighbour
