#include "api/network_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "json/json_text.h"

namespace paravane::api {
namespace {

using nlohmann::json;

TEST(NetworkJson, ComesBackAsItWas) {
  const model::DistributedSwitch lan{.name = "lan",
                                     .mtu = 9000,
                                     .hosts = {{"h1", "eth1"}, {"h2", ""}},
                                     .standby = {{"h1", {"eth2", "eth3"}}}};
  const model::PortGroup group{.name = "a", .vds = "lan", .vlan = 10};
  const model::SwitchHost host{.host = "h1", .uplink = "eth1", .standby = {"eth2"}};
  const model::SwitchStatus status{.spec = lan,
                                   .port_groups = {"a"},
                                   .host = "h1",
                                   .form = model::SwitchForm::kVlanAware,
                                   .bridges = {"pvs-lan"},
                                   .problems = {"x"},
                                   .active = "eth2"};
  const model::PortGroupStatus group_status{.spec = group, .adapters = {"db1/2"}};
  EXPECT_EQ(switch_from_json(to_json(lan)), lan);
  EXPECT_EQ(port_group_from_json(to_json(group)), group);
  EXPECT_EQ(switch_host_from_json(to_json(host)), host);
  EXPECT_EQ(switch_status_from_json(to_json(status)), status);
  EXPECT_EQ(port_group_status_from_json(to_json(group_status)), group_status);
}

TEST(NetworkJson, HasDefaults) {
  EXPECT_EQ(switch_from_json(json{{"name", "lan"}}), model::DistributedSwitch{.name = "lan"});
  EXPECT_EQ(port_group_from_json(json{{"name", "a"}, {"vds", "lan"}}),
            (model::PortGroup{.name = "a", .vds = "lan"}));
  EXPECT_EQ(switch_host_from_json(json{{"host", "h1"}}), model::SwitchHost{.host = "h1"});
}

TEST(NetworkJson, RefusesWhatBreaksARule) {
  for (const char* text :
       {R"([])", R"({})", R"({"name":"A"})", R"({"name":1})", R"({"name":"a","mtu":1})",
        R"({"name":"a","mtu":4294968796})", R"({"name":"a","more":1})",
        R"({"name":"a","hosts":{}})", R"({"name":"a","hosts":[1]})",
        R"({"name":"a","hosts":[{"host":"h"},{"host":"h"}]})",
        R"({"name":"a","hosts":[{"host":"H"}]})", R"({"name":"a","hosts":[{"host":"h","x":1}]})",
        R"({"name":"a","hosts":[{"host":"h","uplink":"lo"}]})",
        R"({"name":"a","hosts":[{"host":"h","standby":["b"]}]})",
        R"({"name":"a","hosts":[{"host":"h","uplink":"a","standby":"b"}]})",
        R"({"name":"a","hosts":[{"host":"h","uplink":"a","standby":[1]}]})",
        R"({"name":"a","hosts":[{"host":"h","uplink":"a","standby":["a"]}]})"}) {
    EXPECT_FALSE(switch_from_json(*parse_json(text))) << text;
  }
  for (const char* text : {R"({"name":"a"})", R"({"name":"a","vds":"b","vlan":4096})",
                           R"({"name":"a","vds":"b","vlan":-1})", R"({"name":"none","vds":"b"})",
                           R"({"name":"a","vds":"b","x":1})"}) {
    EXPECT_FALSE(port_group_from_json(*parse_json(text))) << text;
  }
  EXPECT_FALSE(mtu_from_json(json{{"mtu", 1}}));
  EXPECT_FALSE(mtu_from_json(json::object()));
  EXPECT_EQ(mtu_from_json(json{{"mtu", 9000}}), 9000u);
  for (const json& bad : {json{{"roce", "on"}}, json{{"routed", "native"}}, json{{"routed", 1}},
                          json{{"roce", "off"}, {"vlan", 1}}, json::object()}) {
    EXPECT_FALSE(port_group_change_from_json(bad)) << bad;
  }
  for (const model::PortGroupChange& change : {model::PortGroupChange{.native_roce = true},
                                               {.routed = true},
                                               {.routed = false},
                                               {.native_roce = false, .routed = true}}) {
    EXPECT_EQ(port_group_change_from_json(to_json(change)), change);
  }
  EXPECT_FALSE(uplinks_from_json(json::object()));
  EXPECT_EQ(uplinks_from_json(json{{"uplink", ""}}), model::SwitchHost{});
  EXPECT_EQ(uplinks_from_json(json{{"uplink", "a"}, {"standby", {"b"}}}),
            (model::SwitchHost{.host = {}, .uplink = "a", .standby = {"b"}}));
  EXPECT_FALSE(uplinks_from_json(json{{"uplink", "a"}, {"standby", "b"}}));
}

TEST(NetworkJson, APortGroupOfAnEarlierReleaseIsNotRouted) {
  const auto old = kept_port_group_from_json(*parse_json(R"({"name":"a","vds":"b","vlan":1})"));
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->routed);
  EXPECT_FALSE(to_json(*old).contains("routed")) << "which earlier releases read as well";
  model::PortGroup group = *old;
  group.routed = true;
  EXPECT_EQ(kept_port_group_from_json(to_json(group)), group);
  EXPECT_FALSE(kept_port_group_from_json(*parse_json(R"({"name":"a","vds":"b","routed":"yes"})")));
}

TEST(NetworkJson, AnswersMayHaveKeysOfANewerDaemon) {
  EXPECT_TRUE(switch_status_from_json(
      *parse_json(R"({"name":"a","mtu":1500,"hosts":[{"host":"h","uplink":"","x":1}],"y":2})")));
  EXPECT_TRUE(port_group_status_from_json(*parse_json(R"({"name":"a","vds":"b","x":1})")));
}

}  // namespace
}  // namespace paravane::api
