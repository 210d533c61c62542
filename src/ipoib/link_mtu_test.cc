#include "ipoib/link_mtu.h"

#include <gtest/gtest.h>

namespace paravane::ipoib {
namespace {

using wire::infiniband::Mtu;

TEST(LinkMtu, HasTheNumbersOneToFive) {
  EXPECT_FALSE(is_link_mtu(0));
  for (unsigned number = 1; number <= 5; ++number) EXPECT_TRUE(is_link_mtu(number)) << number;
  for (unsigned number = 6; number < 256; ++number) EXPECT_FALSE(is_link_mtu(number)) << number;
}

TEST(LinkMtu, ANumberIsFoundByItsBytes) {
  for (unsigned number = 1; number <= 5; ++number)
    EXPECT_EQ(number_of_mtu(wire::infiniband::bytes_of(static_cast<Mtu>(number))), number);
  for (const std::size_t bytes : {0U, 128U, 1500U, 2044U, 8192U})
    EXPECT_EQ(number_of_mtu(bytes), 0) << bytes;
}

TEST(LinkMtu, ALinkCarriesIpFromTwoKilobytesOn) {
  for (const Mtu mtu : {Mtu::k256, Mtu::k512, Mtu::k1024}) EXPECT_FALSE(carries_ip(mtu));
  for (const Mtu mtu : {Mtu::k2048, Mtu::k4096}) EXPECT_TRUE(carries_ip(mtu));
  EXPECT_FALSE(carries_ip(Mtu{}));
  EXPECT_FALSE(carries_ip(static_cast<Mtu>(6)));
}

TEST(LinkMtu, AnIpPacketLeavesRoomForItsEncapsulation) {
  EXPECT_EQ(ip_mtu_of(2048), 2044u);  // RFC 4391, section 7
  EXPECT_EQ(link_mtu_of(2044), 2048u);
}

}  // namespace
}  // namespace paravane::ipoib
