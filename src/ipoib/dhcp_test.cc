#include "ipoib/dhcp.h"

#include <gtest/gtest.h>

#include <string_view>

#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

// Ports, length, checksum; a reply, hardware type 1, 6 bytes of address.
constexpr std::string_view kOffer = "0043 0044 000c 0000 02 01 06 00";

TEST(DhcpTest, AnAnswerOfAServerIsOne) {
  EXPECT_TRUE(is_dhcp_answer(ipv4_packet({}, bytes_of(kOffer))));
  EXPECT_TRUE(is_dhcp_answer(ipv4_packet({.options = "94040000"}, bytes_of(kOffer))));
  // The first of several fragments.
  EXPECT_TRUE(is_dhcp_answer(ipv4_packet({.flags_fragment = 0x2000}, bytes_of(kOffer))));
}

TEST(DhcpTest, OtherPacketsAreNone) {
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({}, bytes_of("0044 0043 000c 0000 01 01 06 00"))));
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({}, bytes_of("0043 0043 000c 0000 02 01 06 00"))));
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({}, bytes_of("0035 0044 000c 0000 02 01 06 00"))));
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({}, bytes_of("0043 0044 000c 0000 01 01 06 00"))));
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({.protocol = 6}, bytes_of(kOffer))));
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({.flags_fragment = 0x0001}, bytes_of(kOffer))));
}

TEST(DhcpTest, APacketThatIsCutShortOrDamagedIsNone) {
  const Bytes whole = ipv4_packet({}, bytes_of(kOffer));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(is_dhcp_answer(cut)) << size;
  }
  EXPECT_FALSE(is_dhcp_answer(ipv4_packet({}, bytes_of("0043 0044 0008 0000"))));
  Bytes damaged = whole;
  damaged[10] ^= std::byte{1};  // the checksum
  EXPECT_FALSE(is_dhcp_answer(damaged));
}

}  // namespace
}  // namespace paravane::ipoib
