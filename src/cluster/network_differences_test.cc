#include "cluster/network_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cluster {
namespace {

using model::Network;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Network network_with(const std::string& vds, const std::vector<std::string>& groups) {
  Network network;
  network.switches[vds] = {.name = vds};
  for (const std::string& name : groups) {
    network.port_groups[name] = {.name = name, .vds = vds, .vlan = 10};
  }
  return network;
}

TEST(NetworkDifferences, AllAreNamedAtOnce) {
  Network own = network_with("lan", {"db", "web"});
  own.switches["dmz"] = {.name = "dmz"};
  const NetworkDifferences found = find_differences(own, {}, "h2");
  EXPECT_THAT(found.switches, ElementsAre("dmz", "lan"));
  EXPECT_THAT(found.port_groups, ElementsAre("db", "web"));
  const model::ApiError refusal = refuse_differences(found, "the same token").error();
  EXPECT_THAT(refusal.message,
              HasSubstr(": port group db, port group web, switch dmz, switch lan"));
  EXPECT_EQ(
      refusal.remedy,
      "Delete these objects in this order: paravane portgroup delete db, paravane portgroup delete "
      "web, paravane vds delete dmz, paravane vds delete lan. Then join with the same token.");
}

TEST(NetworkDifferences, WhatTheClusterHasJustSoIsNone) {
  const Network own = network_with("lan", {"web"});
  Network shared = network_with("lan", {"web", "db"});
  shared.switches["lan"].hosts["h1"] = "eth1";
  EXPECT_TRUE(find_differences(own, shared, "h2").empty());
  shared.port_groups["web"].vlan = 11;
  const NetworkDifferences found = find_differences(own, shared, "h2");
  EXPECT_THAT(found.switches, IsEmpty());
  EXPECT_THAT(found.port_groups, ElementsAre("web"));
}

TEST(NetworkDifferences, ASwitchIsDeletedAfterItsPortGroups) {
  const Network own = network_with("lan", {"web"});
  Network shared = own;
  shared.switches["lan"].mtu = 9000;
  const NetworkDifferences found = find_differences(own, shared, "h2");
  EXPECT_THAT(found.switches, ElementsAre("lan"));
  EXPECT_THAT(found.port_groups, ElementsAre("web"));
}

TEST(NetworkDifferences, AHostsUplinkCountsUnderItsNameInTheCluster) {
  Network own = network_with("lan", {});
  own.switches["lan"].hosts = {{"machine", "eth1"}, {"left-over", "eth7"}};
  Network shared = network_with("lan", {});
  shared.switches["lan"].hosts = {{"h1", "eth5"}, {"h2", "eth1"}};
  const Network as_h2 = under_one_name(without_others(own, "machine"), "h2");
  EXPECT_TRUE(find_differences(as_h2, shared, "h2").empty());
  shared.switches["lan"].hosts["h2"] = "eth9";
  EXPECT_FALSE(find_differences(as_h2, shared, "h2").empty());
}

TEST(NetworkDifferences, VeryManyAreCounted) {
  Network own = network_with("lan", {});
  for (int i = 0; i < 100; ++i) own.switches["vds" + std::to_string(i)] = {};
  EXPECT_THAT(refuse_differences(find_differences(own, {}, "h2"), "the same token").error().message,
              HasSubstr("and 69 more"));
}

}  // namespace
}  // namespace paravane::cluster
