#include "ethernet/known_nics.h"

#include <gtest/gtest.h>

#include <string>

#include "ethernet/links.h"

namespace paravane::ethernet {
namespace {

Link nic_with(int index, const std::string& kind, const std::string& mac,
              const std::string& own_mac) {
  Link nic;
  nic.index = index;
  nic.name = "any";
  nic.kind = kind;
  nic.mac = mac;
  nic.own_mac = own_mac;
  return nic;
}

TEST(KnownNics, HardwareIsKnownByItsOwnAddress) {
  const NicIdentity known = identity_of(nic_with(3, "", "02:00:00:00:00:01", "aa:00:00:00:00:01"));
  EXPECT_TRUE(is_same_nic(nic_with(3, "", "02:00:00:00:00:01", "aa:00:00:00:00:01"), known));
  // It came back: another number, and another address in use.
  EXPECT_TRUE(is_same_nic(nic_with(9, "", "aa:00:00:00:00:01", "aa:00:00:00:00:01"), known));
  EXPECT_FALSE(is_same_nic(nic_with(3, "", "02:00:00:00:00:01", "aa:00:00:00:00:02"), known));
  EXPECT_FALSE(is_same_nic(nic_with(3, "vlan", "02:00:00:00:00:01", "aa:00:00:00:00:01"), known));
}

TEST(KnownNics, WhatHasNoAddressOfItsOwnIsKnownWhileItIsThere) {
  for (const std::string kind : {"", "veth"}) {
    const NicIdentity known = identity_of(nic_with(3, kind, "02:00:00:00:00:01", ""));
    EXPECT_TRUE(is_same_nic(nic_with(3, kind, "02:00:00:00:00:01", ""), known));
    EXPECT_FALSE(is_same_nic(nic_with(4, kind, "02:00:00:00:00:01", ""), known));
    EXPECT_FALSE(is_same_nic(nic_with(3, kind, "02:00:00:00:00:02", ""), known));
  }
}

TEST(KnownNics, AVlanSharesTheAddressOfItsNicAndIsNotIt) {
  const NicIdentity known =
      identity_of(nic_with(5, "vlan", "aa:00:00:00:00:01", "aa:00:00:00:00:01"));
  EXPECT_TRUE(is_same_nic(nic_with(5, "vlan", "aa:00:00:00:00:01", "aa:00:00:00:00:01"), known));
  EXPECT_FALSE(is_same_nic(nic_with(6, "vlan", "aa:00:00:00:00:01", "aa:00:00:00:00:01"), known));
}

}  // namespace
}  // namespace paravane::ethernet
