#include "model/distributed_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/segment.h"

namespace paravane::model {
namespace {

using testing::HasSubstr;

TEST(CheckSwitch, TakesGoodOnes) {
  EXPECT_TRUE(check_switch({.name = "lan"}));
  EXPECT_TRUE(check_switch({.name = "lan.2", .mtu = 9000, .hosts = {{"h1", "eth1"}, {"h2", ""}}}));
}

TEST(CheckSwitch, RefusesBadNamesAndSizes) {
  for (const char* name : {"", "A", "-a", "a/b", "a b", "a+b"}) {
    EXPECT_FALSE(check_switch({.name = name})) << name;
  }
  EXPECT_FALSE(check_switch({.name = "lan", .mtu = 1279}));
  EXPECT_FALSE(check_switch({.name = "lan", .mtu = 9217}));
}

TEST(CheckSwitchHost, RefusesWhatNoHostOrNicIsNamed) {
  EXPECT_TRUE(check_switch_host({.host = "h1.example.org", .uplink = "enp3s0f1"}));
  for (const char* host : {"", "H1", "h/1", "h 1", "-h"}) {
    EXPECT_FALSE(check_switch_host({.host = host})) << host;
  }
  for (const char* nic : {"lo", "a/b", "a:b", "a b", ".", "..", "sixteen-letters.", "a\nb"}) {
    EXPECT_FALSE(check_switch_host({.host = "h1", .uplink = nic})) << nic;
  }
  EXPECT_FALSE(check_switch_host({.host = "h1", .uplink = std::string("a\0b", 3)}));
}

TEST(CheckPortGroup, VlansAre0To4094) {
  EXPECT_TRUE(check_port_group({.name = "a", .vds = "lan"}));
  EXPECT_TRUE(check_port_group({.name = "a", .vds = "lan", .vlan = 4094}));
  EXPECT_FALSE(check_port_group({.name = "a", .vds = "lan", .vlan = 4096}));
  EXPECT_FALSE(check_port_group({.name = "A", .vds = "lan"}));
  EXPECT_FALSE(check_port_group({.name = "a", .vds = ""}));
  EXPECT_FALSE(check_port_group({.name = "none", .vds = "lan"}));
}

class NetworkTest : public testing::Test {
 protected:
  Network network_{.switches = {{"lan", {.name = "lan", .hosts = {{"h1", "eth1"}, {"h2", ""}}}},
                                {"wan", {.name = "wan", .hosts = {{"h1", ""}}}}},
                   .port_groups = {{"a", {.name = "a", .vds = "lan", .vlan = 10}}}};
};

TEST_F(NetworkTest, NamesAreTakenOnce) {
  EXPECT_EQ(check_new_switch(network_, {.name = "lan"}).error().code, ApiErrorCode::kExists);
  EXPECT_TRUE(check_new_switch(network_, {.name = "dmz"}));
  EXPECT_EQ(check_new_port_group(network_, {.name = "a", .vds = "wan"}).error().code,
            ApiErrorCode::kExists);
  EXPECT_TRUE(check_new_port_group(network_, {.name = "b", .vds = "lan", .vlan = 10}));
  EXPECT_EQ(check_new_host(network_, "lan", {.host = "h1"}).error().code, ApiErrorCode::kExists);
}

TEST_F(NetworkTest, APortGroupNeedsItsSwitch) {
  EXPECT_EQ(check_new_port_group(network_, {.name = "b", .vds = "dmz"}).error().code,
            ApiErrorCode::kNotFound);
  EXPECT_EQ(check_switch_unused(network_, "lan").error().code, ApiErrorCode::kInUse);
  EXPECT_TRUE(check_switch_unused(network_, "wan"));
}

TEST_F(NetworkTest, ANicIsTheUplinkOfOneSwitch) {
  const auto taken = check_uplink(network_, "wan", {.host = "h1", .uplink = "eth1"});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ApiErrorCode::kInUse);
  EXPECT_THAT(taken.error().message, HasSubstr("eth1 of host h1 is the uplink of switch lan"));
  EXPECT_TRUE(check_uplink(network_, "lan", {.host = "h1", .uplink = "eth1"}));  // as it is
  EXPECT_TRUE(check_uplink(network_, "wan", {.host = "h2", .uplink = "eth1"}));  // another's
  EXPECT_TRUE(check_uplink(network_, "wan", {.host = "h1", .uplink = ""}));
  EXPECT_FALSE(check_new_host(network_, "dmz", {.host = "h1"}));
  EXPECT_FALSE(check_new_switch(network_, {.name = "dmz", .hosts = {{"h1", "eth1"}}}));
}

TEST_F(NetworkTest, ThereIsAnEndToHowManyThereAre) {
  for (std::size_t i = network_.switches.size(); i < kMaxSwitches; ++i) {
    network_.switches["s" + std::to_string(i)] = {};
  }
  EXPECT_EQ(check_new_switch(network_, {.name = "more"}).error().code, ApiErrorCode::kLimitReached);
  for (std::size_t i = network_.port_groups.size(); i < kMaxPortGroups; ++i) {
    network_.port_groups["g" + std::to_string(i)] = {};
  }
  EXPECT_EQ(check_new_port_group(network_, {.name = "more", .vds = "lan"}).error().code,
            ApiErrorCode::kLimitReached);
}

TEST_F(NetworkTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(find_switch(network_, "dmz").error().code, ApiErrorCode::kNotFound);
  EXPECT_EQ(find_port_group(network_, "b").error().code, ApiErrorCode::kNotFound);
  EXPECT_EQ(find_port_group(network_, "a")->vlan, 10u);
}

TEST(SwitchForm, IsReadAsItIsWritten) {
  for (const SwitchForm form : {SwitchForm::kNone, SwitchForm::kVlanAware, SwitchForm::kPlain}) {
    EXPECT_EQ(parse_switch_form(to_string(form)), form);
  }
  EXPECT_EQ(parse_switch_form("?"), std::nullopt);
}

TEST(Vlan, IsOneNumber) {
  EXPECT_EQ(*parse_vlan("10"), 10u);
  EXPECT_EQ(*parse_vlan("0"), 0u);
  for (const char* bad : {"", "x", "1x", "-1", "99999999999", " 1"}) {
    const auto refused = parse_vlan(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, testing::HasSubstr("a whole number")) << bad;
  }
}

TEST(Vlan, OfAGuestsOwnTagsIs4095) {
  for (const char* trunk : {"trunk", "all", "1-100", "10,20"}) {
    const auto refused = parse_vlan(trunk);
    ASSERT_FALSE(refused) << trunk;
    EXPECT_THAT(refused.error().message, testing::HasSubstr("or 4095 for guest VLAN tagging"));
  }
  EXPECT_EQ(*parse_vlan("4095"), kGuestVlans);
  EXPECT_TRUE(check_port_group({.name = "a", .vds = "b", .vlan = 4095}));
  const auto roce = check_port_group({.name = "a", .vds = "b", .vlan = 4095, .native_roce = true});
  ASSERT_FALSE(roce);
  EXPECT_THAT(roce.error().message, testing::HasSubstr("only for adapters without RDMA"));
  EXPECT_FALSE(check_port_group({.name = "a", .vds = "b", .vlan = 4096}));
}

TEST(Segment, VmsThatTagTheirFramesAreInNone) {
  const Network network{
      .switches = {{"lan", {.name = "lan"}}},
      .port_groups = {{"a", {.name = "a", .vds = "lan", .vlan = 10}},
                      {"guests", {.name = "guests", .vds = "lan", .vlan = 4095}}}};
  EXPECT_TRUE(segment_number(network, "a"));
  EXPECT_EQ(segment_number(network, "guests"), std::nullopt);
  EXPECT_EQ(segment_number(network, "none"), std::nullopt);
}

TEST(Uplink, OfATeamHasANameOfItsOwn) {
  const auto refused = check_switch_host({.host = "h1", .uplink = "vmnic2,vmnic3"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("Name each uplink of a team separately, the active one first: "
                                 "--uplink vmnic2 --uplink vmnic3"));
}

TEST(Team, HasAnUplinkAndEachOnce) {
  EXPECT_TRUE(check_switch_host({.host = "h1", .uplink = "a", .standby = {"b", "c"}}));
  for (const SwitchHost& bad : {SwitchHost{.host = "h1", .standby = {"b"}},
                                SwitchHost{.host = "h1", .uplink = "a", .standby = {"a"}},
                                SwitchHost{.host = "h1", .uplink = "a", .standby = {"b", "b"}},
                                SwitchHost{.host = "h1", .uplink = "a", .standby = {""}},
                                SwitchHost{.host = "h1", .uplink = "a", .standby = {"lo"}},
                                SwitchHost{.host = "h1", .uplink = "a", .standby = {"b,c"}}}) {
    EXPECT_FALSE(check_switch_host(bad)) << bad.uplink << " " << bad.standby.front();
  }
  SwitchHost most{.host = "h1", .uplink = "a"};
  while (most.standby.size() + 1 < kMaxTeam)
    most.standby.push_back("b" + std::to_string(most.standby.size()));
  EXPECT_TRUE(check_switch_host(most));
  most.standby.push_back("c");
  EXPECT_FALSE(check_switch_host(most));
}

TEST(Team, BelongsToAMember) {
  DistributedSwitch vds{.name = "lan"};
  put_member(vds, {.host = "h1", .uplink = "a", .standby = {"b"}});
  put_member(vds, {.host = "h2", .uplink = "a", .standby = {"c"}});
  EXPECT_TRUE(check_switch(vds));
  EXPECT_EQ(uplinks_of(vds, "h1"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(uplinks_of(vds, "h3"), std::vector<std::string>{});
  EXPECT_TRUE(rename_member(vds, "h1", "h3"));
  EXPECT_EQ(member_of(vds, "h1"), std::nullopt);
  EXPECT_EQ(member_of(vds, "h3"), (SwitchHost{.host = "h3", .uplink = "a", .standby = {"b"}}));
  erase_other_members(vds, "h3");
  EXPECT_EQ(vds,
            (DistributedSwitch{.name = "lan", .hosts = {{"h3", "a"}}, .standby = {{"h3", {"b"}}}}));
  put_member(vds, {.host = "h3", .uplink = "b"});
  EXPECT_EQ(vds.standby.size(), 0U);
  EXPECT_TRUE(erase_member(vds, "h3"));
  EXPECT_FALSE(erase_member(vds, "h3"));
  EXPECT_FALSE(rename_member(vds, "h3", "h4"));
  vds.standby["h4"] = {"b"};
  EXPECT_FALSE(check_switch(vds));
}

TEST(Team, HasNoUplinkOfAnotherSwitch) {
  Network network;
  network.switches["lan"] = {.name = "lan", .hosts = {{"h1", "a"}}, .standby = {{"h1", {"b"}}}};
  network.switches["dmz"] = {.name = "dmz", .hosts = {{"h1", "c"}}};
  for (const SwitchHost& taken :
       {SwitchHost{.host = "h1", .uplink = "b"}, SwitchHost{.host = "h1", .uplink = "a"},
        SwitchHost{.host = "h1", .uplink = "c", .standby = {"b"}}}) {
    const auto refused = check_uplink(network, "dmz", taken);
    ASSERT_FALSE(refused) << taken.uplink;
    EXPECT_EQ(refused.error().code, ApiErrorCode::kInUse);
  }
  EXPECT_TRUE(check_uplink(network, "dmz", {.host = "h2", .uplink = "b"}));
  EXPECT_TRUE(check_uplink(network, "lan", {.host = "h1", .uplink = "b", .standby = {"a"}}));
}

}  // namespace
}  // namespace paravane::model
