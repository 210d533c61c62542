// What the kernel tells of interfaces, in a network namespace of its own.

#include "ethernet/link_news.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ethernet/links.h"
#include "ethernet/traffic_rules.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

class LinkNewsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
    ASSERT_TRUE(network_.ip("link add lan type bridge"));
    auto news = LinkNews::open();
    ASSERT_TRUE(news) << news.error().message;
    news_.emplace(std::move(*news));
  }
  // Whether what ip(8) does with these words matters.
  bool matters(const std::string& words, const LinkFilter& filter) {
    EXPECT_TRUE(network_.ip(words)) << words;
    return news_->take(filter);
  }
  static int index_of(const char* link) { return static_cast<int>(::if_nametoindex(link)); }

  OwnNetwork network_;
  std::optional<LinkNews> news_;
};

TEST_F(LinkNewsTest, HearsOfThoseThatAreNamed) {
  const LinkFilter nic{.names = {"nic"}};
  EXPECT_FALSE(news_->take(nic));
  EXPECT_TRUE(matters("link set nic up", nic));
  EXPECT_FALSE(news_->take(nic));  // each is heard once
  EXPECT_FALSE(matters("link set lan up", nic));
  EXPECT_TRUE(matters("link set nic master lan", nic));
  EXPECT_TRUE(matters("link set nic nomaster", nic));
  EXPECT_TRUE(matters("link del nic", nic));
  EXPECT_FALSE(matters("link add other type bridge", nic));
  EXPECT_TRUE(matters("link add nic type bridge", nic));
}

TEST_F(LinkNewsTest, HearsOfALinkUnderAnotherName) {
  const LinkFilter nic{.links = {index_of("nic")}};
  EXPECT_TRUE(matters("link set nic name ens5", nic));
  EXPECT_TRUE(matters("link set ens5 down", {.links = nic.links}) ||
              matters("link set ens5 up", nic));
  EXPECT_FALSE(matters("link set far down", nic) && matters("link set lan up", nic));
}

TEST_F(LinkNewsTest, HearsOfPortsOfAFollowedBridge) {
  const LinkFilter bridge{.links = {index_of("lan")}};
  EXPECT_TRUE(matters("link set far master lan", bridge));
  EXPECT_TRUE(matters("link set far nomaster", bridge));
}

TEST_F(LinkNewsTest, HearsOfAddressesWhereTheyMatter) {
  EXPECT_TRUE(matters("address add 192.0.2.1/24 dev nic", {.links = {index_of("nic")}}));
  EXPECT_TRUE(matters("address del 192.0.2.1/24 dev nic", {.links = {index_of("nic")}}));
  EXPECT_FALSE(matters("address add 192.0.2.1/24 dev lan", {.links = {index_of("nic")}}));
  EXPECT_TRUE(matters("address del 192.0.2.1/24 dev lan", {.addresses = true}));
}

TEST_F(LinkNewsTest, HearsOfRulesOfTrafficControl) {
  auto rules = TrafficRules::open();
  ASSERT_TRUE(rules);
  const LinkFilter nic{.links = {index_of("nic")}};
  const int lan = index_of("lan");
  ASSERT_TRUE(rules->add_hook(index_of("nic")));
  EXPECT_TRUE(news_->take(nic));
  const TrafficRule rule = drop_all(9, 1);
  ASSERT_TRUE(rules->set(index_of("nic"), Direction::kReceived, rule));
  EXPECT_TRUE(news_->take(nic));
  ASSERT_TRUE(rules->remove(index_of("nic"), Direction::kReceived, rule));
  EXPECT_TRUE(news_->take(nic));
  ASSERT_TRUE(rules->add_hook(lan));
  ASSERT_TRUE(rules->set(lan, Direction::kReceived, rule));
  EXPECT_FALSE(news_->take(nic));
  ASSERT_TRUE(rules->remove_hook(lan));
  EXPECT_TRUE(news_->take({.links = {lan}}));
}

TEST_F(LinkNewsTest, HearsOfAnyLinkWhileOneIsMissed) {
  EXPECT_TRUE(matters("link add any type bridge", {.strangers = true}));
}

TEST_F(LinkNewsTest, WhatIsLostMatters) {
  auto links = Links::open();
  ASSERT_TRUE(links);
  for (std::uint32_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(links->set_mtu(index_of("lan"), 1300 + i % 2));
  }
  // More than there is room for: the kernel says so, whatever they were about.
  bool lost = false;
  for (int i = 0; i < 20; ++i) lost = news_->take({.names = {"nic"}}) || lost;
  EXPECT_TRUE(lost);
  EXPECT_FALSE(news_->take({.names = {"nic"}}));
}

}  // namespace
}  // namespace paravane::ethernet
