#include "cluster/away_gids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/segment.h"

namespace paravane::cluster {
namespace {

using inventory::GidId;
using inventory::RoceType;
using inventory::View;
using testing::ElementsAre;
using testing::IsEmpty;

const model::AdapterName kAwayAdapter{.vm = "db1", .number = 1};
const model::MacAddress kAwayMac{2, 0, 0, 0, 0, 1};

// Three members; h2 has an adapter with an address of its own in the network "web".
class AwayGidsTest : public testing::Test {
 protected:
  AwayGidsTest() {
    view_.network.switches["lan"] = {.name = "lan"};
    view_.network.port_groups["web"] = {.name = "web", .vds = "lan"};
    gid_.segment = *model::segment_number(view_.network, "web");
    gid_.gid[15] = 9;
    for (const char* host : {"h1", "h2", "h3"}) {
      view_.members[host];
      view_.hosts[host].info.emplace();
    }
    give(gid_, "h2");
  }
  void give(const GidId& gid, const std::string& host) {
    view_.hosts[host].gids[gid] = kAwayAdapter;
    view_.gids[gid] = {.host = host, .adapter = kAwayAdapter};
  }
  void leave(const std::string& host) {
    view_.hosts.erase(host);
    std::erase_if(view_.gids, [&host](const auto& one) { return one.second.host == host; });
  }
  std::vector<AwayGids::Held> look() { return away_.look(view_, "h1"); }
  static AwayGids::Held held(const GidId& gid, const char* owner) { return {gid, owner}; }

  View view_;
  GidId gid_;
  AwayGids away_;
};

TEST_F(AwayGidsTest, AGidOfAHostThatIsAwayStaysItsAdaptersUntilTheHostIsBack) {
  EXPECT_THAT(look(), IsEmpty());
  const View before = view_;
  leave("h2");
  EXPECT_THAT(look(), ElementsAre(held(gid_, "adapter db1 of host h2, which is away")));
  EXPECT_THAT(look(), ElementsAre(held(gid_, "adapter db1 of host h2, which is away")));
  view_ = before;
  EXPECT_THAT(look(), IsEmpty());
  view_.hosts["h2"].gids.clear();
  view_.gids.clear();
  leave("h2");
  look();
  view_.hosts["h2"].info.emplace();
  EXPECT_THAT(look(), IsEmpty()) << "it says itself that it has none";
}

TEST_F(AwayGidsTest, AGidThatAnotherAdapterHoldsByNowIsThatAdapters) {
  look();
  leave("h2");
  give(gid_, "h3");
  EXPECT_THAT(look(), IsEmpty());
  leave("h3");
  EXPECT_EQ(look().size(), 2u) << "both may come back";
}

TEST_F(AwayGidsTest, AHostThatWasRemovedIsForgotten) {
  look();
  leave("h2");
  view_.members.erase("h2");
  EXPECT_THAT(look(), IsEmpty());
  view_.members["h2"];
  EXPECT_THAT(look(), IsEmpty()) << "another machine of that name";
}

TEST_F(AwayGidsTest, WithoutAListOfMembersAHostMayComeBack) {
  view_.members.clear();
  look();
  leave("h2");
  EXPECT_EQ(look().size(), 1u);
  away_.clear();
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(AwayGidsTest, AGidOfAMacAddressIsItsAdaptersEvenIfTheGuestDoesNotUseIt) {
  view_.hosts["h3"].adapters[kAwayAdapter] = {.mac = kAwayMac, .port_group = "web"};
  const GidId v1{gid_.segment, inventory::link_local_gid(kAwayMac), RoceType::kV1};
  GidId v2 = v1;
  v2.type = RoceType::kV2;
  EXPECT_THAT(look(), ElementsAre(held(v1, "adapter db1 of host h3, whose guest does not use it"),
                                  held(v2, "adapter db1 of host h3, whose guest does not use it")));
  give(v2, "h3");
  EXPECT_THAT(look(), ElementsAre(held(v1, "adapter db1 of host h3, whose guest does not use it")));
  leave("h3");
  EXPECT_THAT(look(), ElementsAre(held(v1, "adapter db1 of host h3, which is away"),
                                  held(v2, "adapter db1 of host h3, which is away")));
  view_.network.port_groups.clear();
  view_.hosts["h3"].info.emplace();
  view_.hosts["h3"].adapters[kAwayAdapter] = {.mac = kAwayMac, .port_group = "web"};
  EXPECT_THAT(look(), IsEmpty()) << "in no network";
}

TEST_F(AwayGidsTest, AGidOfAnAdapterWhoseLinkIsDownStaysItsUntilItsHostSaysOtherwise) {
  look();
  view_.hosts["h2"].gids.clear();
  view_.gids.clear();
  view_.hosts["h2"].unlinked[gid_] = kAwayAdapter;
  EXPECT_THAT(look(), ElementsAre(held(
                          gid_, "adapter db1 of host h2, which is disconnected from its switch")));
  give(gid_, "h3");
  EXPECT_THAT(look(), IsEmpty()) << "another adapter has it by now";
  leave("h3");
  view_.members.erase("h3");
  EXPECT_EQ(look().size(), 1u);
  const inventory::Host before = view_.hosts.at("h2");
  leave("h2");
  EXPECT_THAT(look(), ElementsAre(held(gid_, "adapter db1 of host h2, which is away")));
  view_.hosts["h2"] = before;
  view_.hosts["h2"].unlinked.clear();
  EXPECT_THAT(look(), IsEmpty()) << "the VM was removed, or its guest gave the address up";
}

TEST_F(AwayGidsTest, WhatWasKeptOfAHostThatIsAwayCountsFromTheStart) {
  View kept = view_;
  for (auto& [name, host] : kept.hosts) host.info.reset();
  kept.hosts.erase("h3");
  kept.hosts["gone"] = kept.hosts.at("h2");
  leave("h2");
  EXPECT_THAT(look(), IsEmpty());
  away_.recall(kept);
  EXPECT_THAT(look(), ElementsAre(held(gid_, "adapter db1 of host h2, which is away")))
      << "and nothing of a host that was removed meanwhile";
}

TEST_F(AwayGidsTest, OfThisHostNothingIsHeld) {
  view_.hosts["h1"].adapters[kAwayAdapter] = {.mac = kAwayMac, .port_group = "web"};
  EXPECT_THAT(look(), IsEmpty());
}

}  // namespace
}  // namespace paravane::cluster
