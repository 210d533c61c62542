#include "inventory/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/segment.h"

namespace paravane::inventory {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr model::MacAddress kMacA{0x02, 0, 0, 0, 0, 0x0A};
constexpr model::MacAddress kMacB{0x02, 0, 0, 0, 0, 0x0B};
const model::AdapterName kVm{"vm", 1};
const model::Network kNetwork{.switches = {{"lan", {.name = "lan"}}},
                              .port_groups = {{"a", {.name = "a", .vds = "lan", .vlan = 10}},
                                              {"b", {.name = "b", .vds = "lan", .vlan = 20}}}};
const std::uint64_t kA = *model::segment_number(kNetwork, "a");
const std::uint64_t kB = *model::segment_number(kNetwork, "b");
const GidId kOther{kA, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1}, RoceType::kV2};
const GidId kOtherInB{kB, kOther.gid, RoceType::kV2};

class ViewTest : public testing::Test {
 protected:
  ViewTest() {
    for (const auto& [name, vds] : kNetwork.switches) {
      put(std::string(kConfigPrefix) + switch_document(name), print_switch(vds));
    }
    for (const auto& [name, group] : kNetwork.port_groups) {
      put(std::string(kConfigPrefix) + port_group_document(name), print_port_group(group));
    }
  }
  // As etcd does: a key that is written again keeps its create_revision.
  std::string put(const std::string& key, const std::string& value) {
    const std::int64_t created = created_.try_emplace(key, ++revision_).first->second;
    return records_.put({.key = key,
                         .value = value,
                         .create_revision = created,
                         .mod_revision = revision_,
                         .lease = 0});
  }
  void put_authority(const std::string& host, const MemberRecord& record) {
    const std::string config(kConfigPrefix);
    put(config + std::string(kClusterDocument), R"({"authority":")" + host + R"("})");
    put(config + member_document(host), print_member(host, record));
  }
  void erase(const std::string& key) {
    created_.erase(key);
    records_.erase(key);
  }
  // The host's keys in a folder become these, as a member does it: others go, new ones
  // come, the rest is written again.
  void say(const std::string& host, const std::string& folder, const OwnKeys& keys) {
    const std::string mine = host_prefix(host);
    const std::map<std::string, std::int64_t> before = created_;
    for (const auto& [key, ignored] : before) {
      if (key.starts_with(mine + folder) && !keys.contains(key.substr(mine.size()))) erase(key);
    }
    for (const auto& [key, value] : keys) put(mine + key, value);
  }
  void put_adapter(const std::string& host, const model::MacAddress& mac,
                   const std::string& port_group = "a", const model::AdapterName& id = kVm) {
    OwnKeys own;
    say_adapter(own, id, {.mac = mac, .port_group = port_group});
    say(host, "adapters/" + format_adapter(id), own);
  }
  void claim(const std::string& host, const GidId& gid, const model::AdapterName& id = kVm) {
    put(host_prefix(host) + gid_key(gid, id), "{}");
  }
  std::shared_ptr<const View> view() const { return records_.build(); }

  Records records_;
  std::map<std::string, std::int64_t> created_;
  std::int64_t revision_ = 0;
};

TEST_F(ViewTest, ShowsWhatHostsSayOfThemselves) {
  OwnKeys own;
  say_info(own, {.address = "192.0.2.1", .port = 28250, .version = "1"});
  say("a", "info", own);
  put_adapter("a", kMacA);
  claim("a", {kA, link_local_gid(kMacA), RoceType::kV2});
  const auto seen = view();
  ASSERT_TRUE(seen->hosts.at("a").info);
  EXPECT_EQ(seen->hosts.at("a").info->address, "192.0.2.1");
  EXPECT_EQ(seen->hosts.at("a").adapters.at(kVm).mac, kMacA);
  EXPECT_EQ(seen->owner({kA, link_local_gid(kMacA), RoceType::kV2}), (GidOwner{"a", kVm}));
  EXPECT_THAT(seen->lost, IsEmpty());
}

TEST_F(ViewTest, TheOldestClaimOfAGidCounts) {
  put_adapter("b", kMacB);
  put_adapter("a", kMacA);
  claim("b", kOther);
  claim("a", kOther);
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"b", kVm}));
  ASSERT_THAT(view()->lost, SizeIs(1));
  EXPECT_EQ(view()->lost[0].host, "a");
  EXPECT_THAT(view()->lost[0].reason, HasSubstr("host b claimed the GID first"));
  EXPECT_FALSE(view()->hosts.at("a").gids.contains(kOther));
}

TEST_F(ViewTest, AClaimThatGoesMakesRoomForTheNext) {
  put_adapter("b", kMacB);
  put_adapter("a", kMacA);
  claim("b", kOther);
  claim("a", kOther);
  erase(host_prefix("b") + gid_key(kOther, kVm));
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
}

TEST_F(ViewTest, AGidOfAnothersMacAddressCannotBeTaken) {
  const GidId mine{kA, link_local_gid(kMacA), RoceType::kV2};
  put_adapter("b", kMacB);
  claim("b", mine);  // before its owner is there
  EXPECT_EQ(view()->owner(mine), (GidOwner{"b", kVm}));
  put_adapter("a", kMacA);
  EXPECT_EQ(view()->owner(mine), std::nullopt);
  claim("a", mine);
  EXPECT_EQ(view()->owner(mine), (GidOwner{"a", kVm}));
  ASSERT_THAT(view()->lost, SizeIs(1));
  EXPECT_THAT(view()->lost[0].reason, HasSubstr("MAC address of adapter vm/1 of host a"));
}

TEST_F(ViewTest, AMacAddressBelongsToTheOldestAdapterThatHasIt) {
  put_adapter("b", kMacA);
  put_adapter("a", kMacA);
  EXPECT_EQ(view()->macs.at(kMacA), (GidOwner{"b", kVm}));
  ASSERT_THAT(view()->lost, SizeIs(1));
  EXPECT_EQ(view()->lost[0].host, "a");
}

TEST_F(ViewTest, AnOldAdapterDoesNotTakeAMacAddressThatItComesByLater) {
  put_adapter("b", kMacB);
  put_adapter("a", kMacA);
  put_adapter("b", kMacA);
  EXPECT_EQ(view()->macs.at(kMacA), (GidOwner{"a", kVm}));
  ASSERT_THAT(view()->lost, SizeIs(1));
  EXPECT_EQ(view()->lost[0].key, "adapters/vm/1/mac/02:00:00:00:00:0a");
}

TEST_F(ViewTest, AnAdapterThatMovesKeepsItsMacAddress) {
  put_adapter("a", kMacA);
  put_adapter("b", kMacA);
  put_adapter("a", kMacA, "b");
  put_adapter("a", kMacA, "");
  EXPECT_EQ(view()->macs.at(kMacA), (GidOwner{"a", kVm}));
  EXPECT_EQ(view()->hosts.at("a").adapters.at(kVm).port_group, "");
}

TEST_F(ViewTest, WhatIsWrittenAgainKeepsItsAge) {
  put_adapter("b", kMacB);
  claim("b", kOther);
  put_adapter("a", kMacA);
  claim("a", kOther);
  put_adapter("b", kMacB);
  claim("b", kOther);
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"b", kVm}));
}

TEST_F(ViewTest, AClaimGrowsNoOlderWhileItsAdapterIsInAnotherNetwork) {
  put_adapter("b", kMacB, "b");
  claim("b", kOther);
  put_adapter("a", kMacA);
  claim("a", kOther);
  put_adapter("b", kMacB, "a");
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
}

TEST_F(ViewTest, AClaimIsNoOlderThanItsAdapter) {
  claim("b", kOther);
  put(host_prefix("b") + port_group_key(kVm, "a"), "{}");
  put_adapter("a", kMacA);
  claim("a", kOther);
  put(host_prefix("b") + mac_key(kVm, kMacB), "{}");
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
}

TEST_F(ViewTest, AClaimDoesNotPassToAnOlderAdapter) {
  const model::AdapterName away{"away", 1};
  put_adapter("b", kMacB);
  claim("b", kOther, away);
  put_adapter("a", kMacA);
  claim("a", kOther);
  claim("b", kOther);
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
  EXPECT_THAT(view()->lost, SizeIs(2));
}

TEST_F(ViewTest, AClaimIsNoOlderThanItsPortGroup) {
  const std::string document = std::string(kConfigPrefix) + port_group_document("c");
  put_adapter("b", kMacB, "c");
  claim("b", kOther);
  put_adapter("a", kMacA);
  claim("a", kOther);
  put(document, print_port_group({.name = "c", .vds = "lan", .vlan = 20}));
  erase(document);
  put(document, print_port_group({.name = "c", .vds = "lan", .vlan = 10}));
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
  // All in one port group keep their order.
  erase(std::string(kConfigPrefix) + port_group_document("a"));
  put(std::string(kConfigPrefix) + port_group_document("a"),
      print_port_group(kNetwork.port_groups.at("a")));
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"b", kVm}));
  put_adapter("b", kMacB, "a");
  put(std::string(kConfigPrefix) + port_group_document("a"),
      print_port_group(kNetwork.port_groups.at("a")));
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
}

// Two port groups may be one network.
TEST_F(ViewTest, APortGroupThatIsSetTakesNoGidFromItsAdapters) {
  const std::string document = std::string(kConfigPrefix) + port_group_document("a");
  put(std::string(kConfigPrefix) + port_group_document("c"),
      print_port_group({.name = "c", .vds = "lan", .vlan = 10}));
  put_adapter("a", kMacA, "a");
  claim("a", kOther);
  put_adapter("b", kMacB, "c");
  claim("b", kOther);
  ASSERT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
  for (const bool native : {true, false}) {
    model::PortGroup group = kNetwork.port_groups.at("a");
    group.native_roce = native;
    put(document, print_port_group(group));
    EXPECT_EQ(view()->network.port_groups.at("a").native_roce, native);
    EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm})) << native;
  }
}

TEST_F(ViewTest, AGidOfAnAdapterWhoseLinkIsDownIsShownAndIsNoClaim) {
  const std::string key = host_prefix("a") + unlinked_gid_key(kOther, kVm);
  put_adapter("a", kMacA);
  put(key, "{}");
  put(host_prefix("a") + unlinked_gid_key(kOtherInB, kVm), "{}");
  put(host_prefix("b") + unlinked_gid_key(kOther, kVm), "{}");
  const auto seen = view();
  EXPECT_EQ(seen->hosts.at("a").unlinked, (AdapterGids{{kOther, kVm}})) << "in its network alone";
  EXPECT_THAT(seen->hosts.at("b").unlinked, IsEmpty()) << "b has no such adapter";
  EXPECT_EQ(seen->odd_keys, 0U);
  EXPECT_EQ(seen->owner(kOther), std::nullopt);
  put_adapter("b", kMacB);
  claim("b", kOther);
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"b", kVm}));

  Records again;
  for (KeyValue& pair : records_.entries()) again.put(std::move(pair));
  EXPECT_EQ(again.build()->hosts.at("a").unlinked, (AdapterGids{{kOther, kVm}}));
  erase(key);
  EXPECT_THAT(view()->hosts.at("a").unlinked, IsEmpty());
}

TEST_F(ViewTest, AnAdapterWithTwoMacAddressesHasBothAndShowsTheOldest) {
  put_adapter("b", kMacB);
  put(host_prefix("b") + mac_key(kVm, kMacA), "{}");
  put(host_prefix("b") + port_group_key(kVm, "b"), "{}");
  claim("b", kOther);
  claim("b", kOtherInB);
  EXPECT_EQ(view()->macs.size(), 2U);
  EXPECT_EQ(view()->hosts.at("b").adapters.at(kVm).mac, kMacB);
  EXPECT_EQ(view()->hosts.at("b").adapters.at(kVm).port_group, "a");
  EXPECT_EQ(view()->gids.size(), 2U);
}

TEST_F(ViewTest, RoceV1AndV2OfOneAddressAreTwo) {
  put_adapter("a", kMacA);
  put_adapter("b", kMacB);
  claim("a", {kA, kOther.gid, RoceType::kV1});
  claim("b", {kA, kOther.gid, RoceType::kV2});
  EXPECT_EQ(view()->owner({kA, kOther.gid, RoceType::kV1})->host, "a");
  EXPECT_EQ(view()->owner({kA, kOther.gid, RoceType::kV2})->host, "b");
}

TEST_F(ViewTest, AClaimForAnAdapterThatIsNotThereCountsForNothing) {
  claim("a", kOther);
  EXPECT_EQ(view()->owner(kOther), std::nullopt);
  ASSERT_THAT(view()->lost, SizeIs(1));
  put_adapter("a", kMacA);
  EXPECT_EQ(view()->owner(kOther)->host, "a");
}

TEST_F(ViewTest, TwoNetworksMayHaveTheSameAddresses) {
  put_adapter("b", kMacB, "b");
  put_adapter("a", kMacA);
  claim("b", kOtherInB);
  claim("a", kOther);
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
  EXPECT_EQ(view()->owner(kOtherInB), (GidOwner{"b", kVm}));
  EXPECT_THAT(view()->lost, IsEmpty());
}

TEST_F(ViewTest, AClaimCountsInTheNetworkOfItsAdapterAlone) {
  put_adapter("b", kMacB, "b");
  claim("b", kOther);
  EXPECT_EQ(view()->owner(kOther), std::nullopt);
  ASSERT_THAT(view()->lost, SizeIs(1));
  EXPECT_EQ(view()->lost[0].reason,
            "adapter vm/1 is in port group b, which belongs to another network");
  put_adapter("b", kMacB, "");
  EXPECT_EQ(view()->lost.at(0).reason, "adapter vm/1 is not in a port group");
  put_adapter("b", kMacB, "c");
  EXPECT_EQ(view()->lost.at(0).reason, "there is no port group c");
  EXPECT_THAT(view()->gids, IsEmpty());
}

TEST_F(ViewTest, WhoComesIntoANetworkIsItsYoungest) {
  put_adapter("b", kMacB, "b");
  claim("b", kOtherInB);
  put_adapter("a", kMacA);
  claim("a", kOther);
  put_adapter("b", kMacB, "a");
  erase(host_prefix("b") + gid_key(kOtherInB, kVm));
  claim("b", kOther);
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"a", kVm}));
}

TEST_F(ViewTest, AClaimEndsWithItsPortGroup) {
  put_adapter("a", kMacA);
  claim("a", kOther);
  erase(std::string(kConfigPrefix) + port_group_document("a"));
  EXPECT_THAT(view()->gids, IsEmpty());
  EXPECT_EQ(view()->lost.at(0).reason, "there is no port group a");
  put(std::string(kConfigPrefix) + port_group_document("a"),
      print_port_group({.name = "a", .vds = "lan", .vlan = 30}));
  EXPECT_THAT(view()->gids, IsEmpty());  // it is another network now
  put(std::string(kConfigPrefix) + port_group_document("a"),
      print_port_group(kNetwork.port_groups.at("a")));
  EXPECT_EQ(view()->owner(kOther)->host, "a");
  erase(std::string(kConfigPrefix) + switch_document("lan"));
  EXPECT_THAT(view()->gids, IsEmpty());
  EXPECT_EQ(view()->network, model::Network());
}

TEST_F(ViewTest, SwitchesAndPortGroupsAreCheckedAsAStrangers) {
  EXPECT_EQ(view()->network, kNetwork);
  const std::string config(kConfigPrefix);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"vds/x", R"({"name":"y"})"},
           {"vds/x", R"({"name":"x","mtu":1})"},
           {"vds/x", R"({"name":"x","hosts":[{"host":"h1"},{"host":"h1"}]})"},
           {"vds/x", R"({"name":"x","hosts":[{"host":"h1","uplink":"a/b"}]})"},
           {"vds/x", "[]"},
           {"vds/X", R"({"name":"X"})"},
           {"vds/", R"({"name":""})"},
           {"portgroups/x", R"({"name":"x","vds":"lan","vlan":4096})"},
           {"portgroups/x", R"({"name":"y","vds":"lan"})"},
           {"portgroups/x", R"({"name":"x"})"}}) {
    const std::uint64_t before = view()->odd_keys;
    put(config + name, value);
    EXPECT_EQ(view()->odd_keys, before + 1) << value;
    EXPECT_EQ(view()->network, kNetwork) << value;
  }
  put(config + "vds/x", R"({"name":"x","of a newer program":1})");
  EXPECT_TRUE(view()->network.switches.contains("x"));
  put(config + "portgroups/alone", R"({"name":"alone","vds":"nowhere"})");
  EXPECT_FALSE(view()->network.port_groups.contains("alone"));
}

TEST_F(ViewTest, MembersAreWhoTheAuthoritySaysTheyAre) {
  const MemberRecord first{std::string(64, 'a'), {std::string(64, 'a'), std::string(64, 'b')}};
  const MemberRecord second{std::string(64, 'c'), {std::string(64, 'c')}};
  const std::string key = std::string(kConfigPrefix) + member_document("h2");
  put_authority("h1", second);
  const MemberRecords alone{{"h1", second}};
  EXPECT_EQ(view()->members, alone);
  put(key, print_member("h2", first));
  EXPECT_EQ(view()->members, (MemberRecords{{"h1", second}, {"h2", first}}));
  put(key, print_member("h2", second));  // another machine of that name
  EXPECT_EQ(view()->members, (MemberRecords{{"h1", second}, {"h2", second}}));
  put(key, print_member("h3", first));
  EXPECT_EQ(view()->members, alone) << "a document that is not what its name says";
  EXPECT_EQ(view()->odd_keys, 1U);
  put(key, print_member("h2", first));
  erase(key);
  EXPECT_EQ(view()->members, alone);
  put(host_prefix("h2") + member_document("h2"), print_member("h2", first));
  EXPECT_EQ(view()->members, alone) << "a host says nothing of its own membership";
}

// Else hosts would end their channels to members whose record is not there yet.
TEST_F(ViewTest, RecordsOfMembersCountOnceTheAuthoritysOwnIsAmongThem) {
  const std::string key(64, 'a');
  const std::string other(64, 'b');
  const MemberRecord known{key, {key}};
  put(std::string(kConfigPrefix) + member_document("h2"), print_member("h2", known));
  for (const char* cluster : {R"({})", R"([])", R"({"authority":1})", R"({"authority":"h1"})"}) {
    put(std::string(kConfigPrefix) + std::string(kClusterDocument), cluster);
    EXPECT_EQ(why_no_member(view()->members, "h2", other), "") << cluster;
    EXPECT_EQ(why_no_member(view()->members, "h3", other), "") << cluster;
  }
  put_authority("h1", known);
  EXPECT_NE(why_no_member(view()->members, "h2", other), "");
  EXPECT_NE(why_no_member(view()->members, "h3", other), "");
  EXPECT_EQ(why_no_member(view()->members, "h2", key), "");
  erase(std::string(kConfigPrefix) + member_document("h1"));
  EXPECT_EQ(why_no_member(view()->members, "h3", other), "");
}

TEST_F(ViewTest, AHostSaysWhichKeyItUses) {
  OwnKeys own;
  const std::string key(64, 'a');
  say_info(own, {.address = "192.0.2.1", .port = 1, .version = "1", .closed = {}, .key = key});
  say("h2", "", own);
  ASSERT_TRUE(view()->hosts.at("h2").info);
  EXPECT_EQ(view()->hosts.at("h2").info->key, key);
}

TEST_F(ViewTest, ThereAreSoManySwitchesAndPortGroupsAndNoMore) {
  for (std::size_t i = 0; i < model::kMaxPortGroups + 10; ++i) {
    const std::string name = "x" + std::to_string(i);
    put(std::string(kConfigPrefix) + switch_document(name), print_switch({.name = name}));
    put(std::string(kConfigPrefix) + port_group_document(name),
        print_port_group({.name = name, .vds = "lan"}));
  }
  EXPECT_EQ(view()->network.switches.size(), model::kMaxSwitches);
  EXPECT_EQ(view()->network.port_groups.size(), model::kMaxPortGroups);
}

TEST_F(ViewTest, OddValuesCountForNothing) {
  const std::string info = host_prefix("a") + std::string(kInfoKey);
  for (const std::string& value :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
        std::string(R"({"address":"host.example","port":1})"),
        std::string(R"({"address":"192.0.2.1","port":0})"),
        std::string(R"({"address":"192.0.2.1","port":65536})"),
        std::string(R"({"address":"192.0.2.1"})"),
        std::string(R"({"address":"192.0.2.1","port":1,"key":"x"})"),
        std::string("{\"address\":\"192.0.2.1\",\"port\":1,\"version\":\"a\\nb\"}")}) {
    put(info, R"({"address":"192.0.2.1","port":1})");
    EXPECT_TRUE(view()->hosts.at("a").info);
    put(info, value);
    EXPECT_FALSE(view()->hosts.at("a").info) << value;
    EXPECT_EQ(view()->odd_keys, 1U) << "however often it is written";
  }
  erase(info);
  EXPECT_EQ(view()->odd_keys, 0U);
}

TEST_F(ViewTest, AHostMayHaveNoChannelAndSaysWhy) {
  put(host_prefix("a") + std::string(kInfoKey),
      R"({"address":"192.0.2.1","port":0,"closed":"the firewall ruleset pvrdma is disabled"})");
  ASSERT_TRUE(view()->hosts.at("a").info);
  EXPECT_EQ(view()->hosts.at("a").info->port, 0);
  EXPECT_EQ(view()->hosts.at("a").info->closed, "the firewall ruleset pvrdma is disabled");
}

// Others read all of it, again and again.
TEST_F(ViewTest, AHostThatWritesWhatIsTooLongCountsForNothing) {
  put_adapter("a", kMacA);
  put_adapter("b", kMacB);
  EXPECT_EQ(put(host_prefix("a") + "x", std::string(View::kMaxHostValue, 'x')), "");
  EXPECT_EQ(put(host_prefix("b") + "x", std::string(View::kMaxHostValue + 1, 'x')),
            "/paravane/v1/hosts/b0");
  EXPECT_EQ(put(host_prefix("c") + std::string(View::kMaxHostKey, 'x'), "{}"),
            "/paravane/v1/hosts/c0");
  EXPECT_THAT(view()->oversized_hosts, testing::ElementsAre("b", "c"));
  EXPECT_EQ(view()->macs.size(), 1U);
}

// Else one that is odd at first could wait for its time.
TEST_F(ViewTest, WhatStandsInAClaimIsNothing) {
  put_adapter("b", kMacB);
  put(host_prefix("b") + mac_key(kVm, kMacB), std::string(View::kMaxHostValue, 'x'));
  put(host_prefix("b") + gid_key(kOther, kVm), R"({"adapter":"other/1"})");
  EXPECT_EQ(view()->owner(kOther), (GidOwner{"b", kVm}));
  EXPECT_EQ(view()->odd_keys, 0U);
}

TEST_F(ViewTest, AHostWithTooManyKeysCountsForNothingAndHarmsNobody) {
  put_adapter("a", kMacA);
  put_adapter("b", kMacB);
  GidId gid = kOther;
  std::string jump;
  for (std::size_t i = 0; jump.empty() && i < 2 * View::kMaxKeysPerHost; ++i) {
    gid.gid[1] = static_cast<std::uint8_t>(i >> 8);
    gid.gid[2] = static_cast<std::uint8_t>(i);
    jump = put(host_prefix("b") + gid_key(gid, kVm), "{}");
  }
  EXPECT_EQ(jump, "/paravane/v1/hosts/b0");
  EXPECT_THAT(view()->oversized_hosts, testing::ElementsAre("b"));
  EXPECT_THAT(view()->gids, IsEmpty());
  EXPECT_EQ(view()->macs.size(), 1U);
  EXPECT_FALSE(records_.wants_reading());
  erase(host_prefix("b") + mac_key(kVm, kMacB));
  EXPECT_TRUE(records_.wants_reading());
  EXPECT_THAT(view()->oversized_hosts, SizeIs(1));
}

TEST_F(ViewTest, ThereAreSoManyHostsAndNoMore) {
  for (std::size_t i = 0; i < View::kMaxHosts + 10; ++i) {
    put_adapter("h" + std::to_string(i), kMacA, "");
  }
  EXPECT_EQ(view()->hosts.size(), View::kMaxHosts);
  EXPECT_EQ(view()->odd_keys, 10U);
}

TEST_F(ViewTest, DocumentsAreJsonAndBounded) {
  put(std::string(kConfigPrefix) + "switches/s1", R"({"mtu":9000})");
  put(std::string(kConfigPrefix) + "switches/s2", "{");
  put(std::string(kConfigPrefix) + "switches/s3",
      "\"" + std::string(View::kMaxDocument, 'x') + "\"");
  put(std::string(kConfigPrefix), "{}");
  EXPECT_THAT(view()->documents, SizeIs(4));
  EXPECT_EQ(view()->documents.at("switches/s1"), R"({"mtu":9000})");
  erase(std::string(kConfigPrefix) + "switches/s1");
  EXPECT_THAT(view()->documents, SizeIs(3));
}

}  // namespace
}  // namespace paravane::inventory
