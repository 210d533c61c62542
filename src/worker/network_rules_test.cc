#include "worker/network_rules.h"

#include <gtest/gtest.h>

#include "worker/segment_id.h"

namespace paravane::worker {
namespace {

model::Network network_of(const std::vector<model::PortGroup>& groups) {
  model::Network network;
  for (const model::PortGroup& group : groups) network.port_groups[group.name] = group;
  return network;
}

TEST(NetworkRulesTest, EachNetworkHasThoseOfItsPortGroup) {
  const model::Network network =
      network_of({{.name = "a", .vds = "lan", .native_roce = true, .routed = true},
                  {.name = "b", .vds = "lan", .vlan = 10, .routed = true},
                  {.name = "c", .vds = "lan", .vlan = 20, .native_roce = true}});
  const NetworkRules rules = network_rules(network);
  using Rules = fabric::Directory::NetworkRules;
  EXPECT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules.at(segment_of(network, "a", {})),
            (Rules{.port_group = "a", .native = true, .routed = true}));
  EXPECT_EQ(rules.at(segment_of(network, "b", {})), (Rules{.port_group = "b", .routed = true}));
  EXPECT_EQ(rules.at(segment_of(network, "c", {})), (Rules{.port_group = "c", .native = true}));
}

TEST(NetworkRulesTest, OfPortGroupsInOneNetworkTheStrictestNativeOneDecides) {
  const auto decides = [](bool a_native, bool a_routed, bool b_native, bool b_routed) {
    const NetworkRules rules = network_rules(
        network_of({{.name = "a", .vds = "lan", .native_roce = a_native, .routed = a_routed},
                    {.name = "b", .vds = "lan", .native_roce = b_native, .routed = b_routed}}));
    EXPECT_EQ(rules.size(), 1u);
    return rules.begin()->second;
  };
  using Rules = fabric::Directory::NetworkRules;
  EXPECT_EQ(decides(true, true, true, false), (Rules{.port_group = "b", .native = true}));
  EXPECT_EQ(decides(true, false, true, true), (Rules{.port_group = "a", .native = true}));
  EXPECT_EQ(decides(false, false, true, true),
            (Rules{.port_group = "b", .native = true, .routed = true}));
  EXPECT_EQ(decides(true, true, false, false),
            (Rules{.port_group = "a", .native = true, .routed = true}));
  EXPECT_FALSE(decides(false, true, false, true).native);
}

}  // namespace
}  // namespace paravane::worker
