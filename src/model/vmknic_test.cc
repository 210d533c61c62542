#include "model/vmknic.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

Ipv4Interface ipv4(const char* text) {
  return parse_ipv4_interface(text).value();
}

TEST(Vmknic, IsCalledVmkAndANumber) {
  for (const char* name : {"vmk0", "vmk1", "vmk255"}) EXPECT_TRUE(check_vmknic_name(name)) << name;
  for (const char* name : {"", "vmk", "vmk01", "vmk256", "vmk-1", "vmk1 ", "Vmk1", "eth0",
                           "vmk99999999999999999999"}) {
    EXPECT_FALSE(check_vmknic_name(name)) << name;
  }
}

TEST(Vmknic, TheManagementInterfaceIsNotMade) {
  EXPECT_TRUE(check_vmknic({.name = "vmk1", .port_group = "pg"}));
  EXPECT_FALSE(check_vmknic({.name = "vmk0", .port_group = "pg"}));
  EXPECT_FALSE(check_vmknic({.name = "vmk1", .port_group = ""}));
  EXPECT_FALSE(check_vmknic({.name = "vmk1", .port_group = "pg", .mac = MacAddress{1}}));
}

// An engine that was broken into must not draw what this host sends elsewhere to itself.
TEST(Vmknic, HasAnAddressOfAPrivateNetwork) {
  for (const char* text : {"10.0.0.1/8", "172.16.0.1/12", "192.168.1.241/24", "100.64.0.1/10",
                           "169.254.1.1/16", "192.168.1.1/30"}) {
    EXPECT_TRUE(check_private(ipv4(text))) << text;
  }
  for (const char* text :
       {"8.8.8.8/24", "0.0.0.1/8", "127.0.0.1/8", "224.0.0.1/8", "10.0.0.1/7", "172.16.0.1/11",
        "192.168.0.1/15", "192.168.1.1/31", "192.168.1.0/24", "192.168.1.255/24", "10.0.0.1/0"}) {
    EXPECT_FALSE(check_private(ipv4(text))) << text;
  }
}

}  // namespace
}  // namespace paravane::model
