#include "cluster/returning_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace paravane::cluster {
namespace {

using inventory::GidId;
using inventory::View;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using namespace std::chrono_literals;

constexpr Instant kConnected = Instant{} + 1h;
const model::AdapterName kAdapter{.vm = "db1", .number = 0};
const model::MacAddress kReturningMac{2, 0, 0, 0, 0, 1};
const GidId kGid{.segment = 7};

View inventory_of(std::initializer_list<const char*> hosts) {
  View view;
  for (const char* host : {"h1", "h2", "h3"}) view.members[host];
  for (const char* host : hosts) view.hosts[host].info.emplace().port = 28250;
  return view;
}

void give_adapter(View& view, const std::string& host) {
  view.hosts[host].adapters[kAdapter] = {.mac = kReturningMac, .port_group = "web"};
  view.hosts[host].gids[kGid] = kAdapter;
  view.macs[kReturningMac] = {.host = host, .adapter = kAdapter};
  view.gids[kGid] = {.host = host, .adapter = kAdapter};
}

class ReturningHostsTest : public testing::Test {
 protected:
  ReturningHostsTest() { give_adapter(known_, "h3"); }
  std::shared_ptr<const View> complete(const View& read, Instant at = kConnected) {
    followed_ = hosts_.complete(std::make_shared<View>(read), &known_, connected_, at);
    return followed_;
  }
  static std::vector<std::string> present(const View& view) {
    std::vector<std::string> names;
    for (const auto& [name, host] : view.hosts) {
      if (host.info) names.push_back(name);
    }
    return names;
  }

  ReturningHosts hosts_;
  View known_ = inventory_of({"h1", "h2", "h3"});
  std::set<std::string> connected_{"h3"};
  std::shared_ptr<const View> followed_;
};

TEST_F(ReturningHostsTest, AHostWithAChannelIsKeptUntilItHasSaidItselfWhatItHas) {
  hosts_.on_away();
  const auto first = complete(inventory_of({"h2"}));
  EXPECT_THAT(present(*first), ElementsAre("h2", "h3"));
  EXPECT_EQ(first->hosts.at("h3").info->port, 28250);
  EXPECT_EQ(first->hosts.at("h3").gids.at(kGid), kAdapter);
  EXPECT_EQ(first->gids.at(kGid).host, "h3");
  EXPECT_EQ(first->macs.at(kReturningMac).host, "h3");
  EXPECT_EQ(hosts_.deadline(), kConnected + ReturningHosts::kReturn);
  const auto back = complete(inventory_of({"h2", "h3"}), kConnected + 5s);
  EXPECT_THAT(back->gids, IsEmpty()) << "its own word counts now";
  EXPECT_EQ(hosts_.deadline(), kNever);
  EXPECT_THAT(present(*complete(inventory_of({"h2"}), kConnected + 6s)), ElementsAre("h2"))
      << "it has gone since";
}

TEST_F(ReturningHostsTest, AHostThatGoesWhileEtcdIsTheSameIsGone) {
  EXPECT_THAT(present(*complete(inventory_of({"h1", "h2"}))), ElementsAre("h1", "h2"));
  EXPECT_EQ(hosts_.deadline(), kNever);
}

TEST_F(ReturningHostsTest, OneThatWasTakenOutIsNotKept) {
  hosts_.on_away();
  View read = inventory_of({"h2"});
  read.members.erase("h3");
  EXPECT_THAT(present(*complete(read)), ElementsAre("h2"));
}

TEST_F(ReturningHostsTest, OneWithoutAChannelIsNotKept) {
  connected_.clear();
  hosts_.on_away();
  EXPECT_THAT(present(*complete(inventory_of({"h2"}))), ElementsAre("h2"));
}

TEST_F(ReturningHostsTest, NoneIsKeptForLong) {
  hosts_.on_away();
  complete(inventory_of({"h2"}));
  EXPECT_THAT(present(*hosts_.give_up()), ElementsAre("h2"));
  EXPECT_EQ(hosts_.deadline(), kNever);
  hosts_.on_away();
  complete(inventory_of({"h2"}));
  const Instant late = kConnected + ReturningHosts::kReturn;
  EXPECT_THAT(present(*complete(inventory_of({"h2"}), late)), ElementsAre("h2"));
}

TEST_F(ReturningHostsTest, WhatOthersClaimByNowIsTheirs) {
  hosts_.on_away();
  View read = inventory_of({"h2"});
  give_adapter(read, "h2");
  const auto followed = complete(read);
  EXPECT_THAT(present(*followed), ElementsAre("h2", "h3"));
  EXPECT_EQ(followed->macs.at(kReturningMac).host, "h2");
  EXPECT_EQ(followed->gids.at(kGid).host, "h2");
  EXPECT_THAT(followed->hosts.at("h3").adapters, IsEmpty());
  EXPECT_THAT(followed->hosts.at("h3").gids, IsEmpty());
  EXPECT_THAT(followed->hosts.at("h2").gids, SizeIs(1));
}

}  // namespace
}  // namespace paravane::cluster
