#include "neighbour/station.h"

#include <gtest/gtest.h>

namespace paravane::neighbour {
namespace {

constexpr std::uint32_t kOwn = 0x0A4D0009;  // 10.77.0.9

Station of_ipv4() {
  return {.mac = {2, 0, 0, 0, 0, 9},
          .link_local = {0xFE, 0x80},
          .ipv4 = Ipv4Interface{.address = kOwn, .prefix = 24},
          .gateway = 0x0A4D00FE};
}

TEST(Station, AnIpv4AddressHasAGid) {
  const Address gid = address_of(kOwn);
  EXPECT_EQ(gid, (Address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 9}));
  EXPECT_EQ(ipv4_of(gid), kOwn);
  EXPECT_EQ(ipv4_of(Address{0xFE, 0x80}), std::nullopt);
  EXPECT_TRUE(is_link_local(Address{0xFE, 0x80}));
  EXPECT_TRUE(is_link_local(Address{0xFE, 0xBF}));
  EXPECT_FALSE(is_link_local(Address{0xFE, 0xC0}));
  EXPECT_FALSE(is_link_local(gid));
}

TEST(Station, NeighboursAreReachedThemselvesAndOthersThroughTheGateway) {
  const Station own = of_ipv4();
  const Address near = address_of(0x0A4D0001);
  const Address far = address_of(0x0A4E0001);
  EXPECT_EQ(own.next_hop(near), near);
  EXPECT_EQ(own.next_hop(far), address_of(0x0A4D00FE));
  EXPECT_EQ(own.next_hop(Address{0xFE, 0x80, 1}), (Address{0xFE, 0x80, 1}));
  EXPECT_EQ(own.next_hop(Address{0x20, 1}), std::nullopt) << "IPv6 has no gateway";
}

TEST(Station, WithoutAGatewayOrAnAddressNoWayLeadsThere) {
  Station own = of_ipv4();
  own.gateway.reset();
  EXPECT_EQ(own.next_hop(address_of(0x0A4E0001)), std::nullopt);
  own.ipv4.reset();
  EXPECT_EQ(own.next_hop(address_of(0x0A4D0001)), std::nullopt);
}

}  // namespace
}  // namespace paravane::neighbour
