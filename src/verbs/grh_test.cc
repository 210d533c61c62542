#include "verbs/grh.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace paravane::verbs {
namespace {

std::uint8_t byte_at(const GrhArea& area, std::size_t at) {
  return std::to_integer<std::uint8_t>(area[at]);
}

std::uint32_t be(const GrhArea& area, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = (value << 8) | byte_at(area, at + i);
  return value;
}

Gid gid_at(const GrhArea& area, std::size_t at) {
  Gid gid;
  for (std::size_t i = 0; i < 16; ++i) gid.raw[i] = byte_at(area, at + i);
  return gid;
}

Gid ipv4_gid_at(const GrhArea& area, std::size_t at) {
  Gid gid;
  gid.raw[10] = gid.raw[11] = 0xFF;
  for (std::size_t i = 0; i < 4; ++i) gid.raw[12 + i] = byte_at(area, at + i);
  return gid;
}

// The one's complement sum over a good header is all ones.
bool has_good_checksum(const GrhArea& area) {
  std::uint32_t sum = 0;
  for (std::size_t i = 20; i < 40; i += 2) sum += be(area, i, 2);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

// How the guest's kernel infers the version of the header (device spec 6.11).
int kernel_header_version(const GrhArea& area) {
  const int first_version = byte_at(area, 0) >> 4;
  const int ipv4_version = byte_at(area, 20) >> 4;
  const int ipv4_words = byte_at(area, 20) & 0xF;
  if (first_version != 6) return ipv4_version == 4 ? 4 : 0;
  if (ipv4_words != 5) return 6;
  return has_good_checksum(area) ? 4 : 6;
}

// How the guest's user space does.
int provider_header_version(const GrhArea& area) {
  const bool first_is_6 = byte_at(area, 0) >> 4 == 6;
  const bool looks_like_ipv4 = byte_at(area, 20) == 0x45 && has_good_checksum(area);
  if (looks_like_ipv4) return 4;
  return first_is_6 ? 6 : 0;
}

Gid ipv6(std::uint8_t last) {
  return Gid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0, 1, last}};
}

Gid ipv4(std::uint8_t last) {
  return Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 1, 2, last}};
}

AddressVector to(const Gid& dgid) {
  AddressVector av;
  av.dgid = dgid;
  av.flow_label = 0xABCDE;
  av.traffic_class = 0x5A;
  av.hop_limit = 63;
  return av;
}

TEST(Grh, C67RoceV1IsAnInfinibandGrh) {
  const GrhArea area = build_grh(GidType::kRoceV1, ipv6(1), to(ipv6(2)), 256, false);

  EXPECT_EQ(be(area, 0, 4), 0x65AA'BCDEu);
  EXPECT_EQ(be(area, 4, 2), 12u + 8u + 256u + 4u);
  EXPECT_EQ(byte_at(area, 6), 0x1B);
  EXPECT_EQ(byte_at(area, 7), 63);
  EXPECT_EQ(gid_at(area, 8), ipv6(1));
  EXPECT_EQ(gid_at(area, 24), ipv6(2));
  EXPECT_EQ(kernel_header_version(area), 6);
  EXPECT_EQ(provider_header_version(area), 6);
}

TEST(Grh, C67RoceV2WithIpv6IsAnIpv6Header) {
  const GrhArea area = build_grh(GidType::kRoceV2, ipv6(1), to(ipv6(2)), 256, false);

  EXPECT_EQ(be(area, 0, 4), 0x65AA'BCDEu);
  EXPECT_EQ(be(area, 4, 2), 8u + 12u + 8u + 256u + 4u);
  EXPECT_EQ(byte_at(area, 6), 17);
  EXPECT_EQ(gid_at(area, 8), ipv6(1));
  EXPECT_EQ(gid_at(area, 24), ipv6(2));
  EXPECT_EQ(kernel_header_version(area), 6);
  EXPECT_EQ(provider_header_version(area), 6);
}

TEST(Grh, C67RoceV2WithIpv4IsZeroesAndAnIpv4Header) {
  const GrhArea area = build_grh(GidType::kRoceV2, ipv4(1), to(ipv4(2)), 256, false);

  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(byte_at(area, i), 0) << i;
  EXPECT_EQ(byte_at(area, 20), 0x45);
  EXPECT_EQ(byte_at(area, 21), 0x5A);
  EXPECT_EQ(be(area, 22, 2), 20u + 8u + 12u + 8u + 256u + 4u);
  EXPECT_EQ(byte_at(area, 28), 63);
  EXPECT_EQ(byte_at(area, 29), 17);
  EXPECT_TRUE(has_good_checksum(area));
  EXPECT_EQ(ipv4_gid_at(area, 32), ipv4(1));
  EXPECT_EQ(ipv4_gid_at(area, 36), ipv4(2));
  EXPECT_EQ(kernel_header_version(area), 4);
  EXPECT_EQ(provider_header_version(area), 4);
}

TEST(Grh, LengthCountsImmediateAndPadding) {
  EXPECT_EQ(be(build_grh(GidType::kRoceV1, ipv6(1), to(ipv6(2)), 1, true), 4, 2),
            12u + 8u + 4u + 4u + 4u);
  EXPECT_EQ(be(build_grh(GidType::kRoceV1, ipv6(1), to(ipv6(2)), 0, false), 4, 2), 12u + 8u + 4u);
}

TEST(Grh, Ipv4NeedsBothEnds) {
  EXPECT_EQ(network_header_of(GidType::kRoceV2, ipv4(1), ipv4(2)), NetworkHeader::kIpv4);
  EXPECT_EQ(network_header_of(GidType::kRoceV2, ipv4(1), ipv6(2)), NetworkHeader::kIpv6);
  EXPECT_EQ(network_header_of(GidType::kRoceV1, ipv4(1), ipv4(2)), NetworkHeader::kRoceV1);
}

TEST(Grh, FlowLabelNeverSpillsIntoTheTrafficClass) {
  AddressVector av = to(ipv6(2));
  av.flow_label = 0xFFFF'FFFF;
  av.traffic_class = 0;
  EXPECT_EQ(be(build_grh(GidType::kRoceV1, ipv6(1), av, 0, false), 0, 4), 0x600F'FFFFu);
}

TEST(Grh, MulticastIsKnown) {
  Gid multicast{};
  multicast.raw[0] = 0xFF;
  EXPECT_TRUE(is_multicast(multicast));
  EXPECT_TRUE(is_multicast(Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 1, 1, 1}}));
  EXPECT_FALSE(is_multicast(ipv4(1)));
  EXPECT_FALSE(is_multicast(ipv6(1)));
}

}  // namespace
}  // namespace paravane::verbs
