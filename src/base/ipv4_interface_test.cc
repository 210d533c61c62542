#include "base/ipv4_interface.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

TEST(Ipv4InterfaceTest, AddressesAreReadAndPrinted) {
  const auto value = parse_ipv4_interface("192.168.1.241/24");
  ASSERT_TRUE(value);
  EXPECT_EQ(format_ipv4(*value), "192.168.1.241/24");
  EXPECT_EQ(format_ipv4(value->address), "192.168.1.241");
  EXPECT_EQ(format_ipv4(value->mask()), "255.255.255.0");
  EXPECT_EQ(format_ipv4(value->broadcast()), "192.168.1.255");
}

TEST(Ipv4InterfaceTest, WhatIsNoAddressIsNotRead) {
  for (const char* text : {"", "192.168.1.241", "192.168.1.241/", "192.168.1.241/33", "/24",
                           "192.168.1/24", "192.168.1.241/2x", "fe80::1/64", "1.2.3.4/-1"}) {
    EXPECT_FALSE(parse_ipv4_interface(text)) << text;
  }
}

TEST(Ipv4InterfaceTest, NetmasksAreOnesThenZeros) {
  EXPECT_EQ(parse_netmask("255.255.255.0"), 24u);
  EXPECT_EQ(parse_netmask("255.255.255.255"), 32u);
  EXPECT_EQ(parse_netmask("0.0.0.0"), 0u);
  EXPECT_FALSE(parse_netmask("255.0.255.0"));
  EXPECT_FALSE(parse_netmask("24"));
}

TEST(Ipv4InterfaceTest, NetworksOverlapWhenOneHoldsTheOther) {
  const auto overlap = [](const char* a, const char* b) {
    return parse_ipv4_interface(a)->overlaps(*parse_ipv4_interface(b));
  };
  EXPECT_TRUE(overlap("10.0.0.1/24", "10.0.0.200/24"));
  EXPECT_TRUE(overlap("10.0.0.1/8", "10.77.0.1/24"));
  EXPECT_FALSE(overlap("10.0.0.1/24", "10.0.1.1/24"));
}

}  // namespace
}  // namespace paravane
