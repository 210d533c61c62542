// The checksums of InfiniBand packets, against packets whose CRCs others have made.

#include "wire/infiniband/checksums.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "wire/infiniband/datagram.h"
#include "wire/roce/icrc.h"

namespace paravane::wire::infiniband {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(
        static_cast<std::byte>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::vector<std::byte> end_of(const std::vector<std::byte>& packet) {
  const PacketEnd end(packet);
  return {end.bytes().begin(), end.bytes().end()};
}

std::vector<std::byte> invariant_of(const std::vector<std::byte>& packet) {
  const auto crc = invariant_crc(packet);
  return {crc.begin(), crc.end()};
}

// The example of IBTA volume 1, 7.8: an RDMA write of 14 bytes in the subnet, and in another.
constexpr std::string_view kLocalWrite =
    "7012375c000e17d2"
    "0a2024870087b1b3000dec2a"
    "01710a1c015d400238f27a050000000e"
    "bb884d85fd5cfba4728bc0690ed40000";
constexpr std::string_view kGlobalWrite =
    "7013375c001817d2"
    "6000000000320010000000000000012500000000000000260000000000000117"
    "0000000000000096"
    "0a2024870087b1b3000dec2a"
    "01710a1c015d400238f27a050000000e"
    "bb884d85fd5cfba4728bc0690ed40000";

TEST(ChecksumsTest, AreThoseOfTheStandardsExample) {
  EXPECT_EQ(end_of(bytes_of(kLocalWrite)), bytes_of("9625b75a45fa"));
}

// Bits that a switch or a router may change on the way, by byte.
struct Field {
  std::size_t at;
  unsigned bits;
  bool counts;
};

void expect_fields(std::string_view hex, const std::vector<Field>& fields) {
  const auto packet = bytes_of(hex);
  for (const Field& field : fields) {
    for (unsigned bit = 1; bit < 256; bit <<= 1) {
      if ((field.bits & bit) == 0) continue;
      auto changed = packet;
      changed[field.at] ^= static_cast<std::byte>(bit);
      EXPECT_EQ(invariant_of(changed) != invariant_of(packet), field.counts)
          << field.at << ' ' << bit;
    }
  }
}

TEST(ChecksumsTest, TheLaneAndTheReservedByteAreVariant) {
  expect_fields(kLocalWrite, {{0, 0xF0, false},
                              {0, 0x0F, true},
                              {1, 0xF0, true},
                              {2, 0xFF, true},
                              {6, 0xFF, true},
                              {9, 0xFF, true},
                              {12, 0xFF, false},
                              {13, 0xFF, true},
                              {51, 0xFF, true}});
}

TEST(ChecksumsTest, InAnotherSubnetTheLocalRouteIsVariant) {
  expect_fields(kGlobalWrite, {{0, 0xFF, false},
                               {2, 0xFF, false},
                               {5, 0xFF, false},
                               {7, 0xFF, false},
                               {8, 0xF0, true},
                               {8, 0x0F, false},
                               {9, 0xFF, false},
                               {11, 0xFF, false},
                               {12, 0xFF, true},
                               {15, 0xFF, false},
                               {16, 0xFF, true},
                               {47, 0xFF, true},
                               {52, 0xFF, false},
                               {53, 0xFF, true},
                               {91, 0xFF, true}});
  // The same transport as RoCE's first version has.
  const auto packet = bytes_of(kGlobalWrite);
  EXPECT_EQ(invariant_crc(packet),
            roce::icrc_of(roce::Network::kV1, std::span<const std::byte>(packet).subspan(8)));
}

TEST(ChecksumsTest, TheVariantCrcCoversAllInFrontOfIt) {
  const auto packet = bytes_of(kLocalWrite);
  for (std::size_t at = 0; at < packet.size(); ++at) {
    auto changed = packet;
    changed[at] ^= std::byte{0x10};
    VariantCrc was;
    was.add(packet);
    VariantCrc is;
    is.add(changed);
    EXPECT_NE(was.finish(), is.finish()) << at;
  }
  VariantCrc pieces;
  pieces.add(std::span<const std::byte>(packet).first(7));
  pieces.add({});
  pieces.add(std::span<const std::byte>(packet).subspan(7));
  VariantCrc whole;
  whole.add(packet);
  EXPECT_EQ(pieces.finish(), whole.finish());
}

TEST(ChecksumsTest, ARawPacketHasTheVariantOneAlone) {
  auto packet = bytes_of(kLocalWrite);
  for (const std::byte next : {std::byte{0x10}, std::byte{0x11}}) {
    packet[1] = next;
    EXPECT_FALSE(has_invariant_crc(packet));
    EXPECT_EQ(end_bytes(packet), kVariantCrcBytes);
    EXPECT_EQ(end_of(packet).size(), kVariantCrcBytes);
  }
}

// A packet may end anywhere.
TEST(ChecksumsTest, APacketThatEndsWithinItsHeadersHasSome) {
  for (const std::string_view hex : {kLocalWrite, kGlobalWrite}) {
    const auto packet = bytes_of(hex);
    for (std::size_t size = 0; size <= packet.size(); ++size) {
      const std::vector<std::byte> part(packet.begin(),
                                        packet.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(end_bytes(part), size < 8 ? kVariantCrcBytes : kMostEndBytes) << size;
      EXPECT_EQ(end_of(part).size(), end_bytes(part)) << size;
    }
  }
}

}  // namespace
}  // namespace paravane::wire::infiniband
