// What the kernel says and does, in a network namespace of its own.

#include "ethernet/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "ethernet/tap.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::HasSubstr;

class LinksTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    auto links = Links::open();
    ASSERT_TRUE(links) << links.error().message;
    links_.emplace(std::move(*links));
  }
  std::optional<Link> find(const std::string& name) {
    const auto all = links_->list();
    EXPECT_TRUE(all);
    const auto found = std::ranges::find(*all, name, &Link::name);
    return found == all->end() ? std::nullopt : std::optional(*found);
  }

  OwnNetwork network_;
  std::optional<Links> links_;
};

TEST_F(LinksTest, SeesTheLoopbackOfANewNamespace) {
  const auto lo = find("lo");
  ASSERT_TRUE(lo);
  EXPECT_TRUE(lo->loopback);
  EXPECT_FALSE(lo->ethernet);
  EXPECT_FALSE(lo->up);
}

TEST_F(LinksTest, MakesABridgeAndWhatIsOnIt) {
  ASSERT_TRUE(links_->add_bridge("br", false));
  ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
  const int bridge = find("br")->index;
  const int nic = find("nic")->index;
  EXPECT_TRUE(links_->set_mark(bridge, "paravane:x:lan"));
  EXPECT_TRUE(links_->set_mtu(bridge, 9000));
  EXPECT_TRUE(links_->set_master(nic, bridge));
  EXPECT_TRUE(links_->set_mtu(nic, 4000));
  EXPECT_TRUE(links_->set_up(nic));
  const auto seen = find("nic");
  EXPECT_EQ(seen->kind, "veth");
  EXPECT_EQ(seen->master, bridge);
  EXPECT_EQ(seen->mtu, 4000u);
  EXPECT_TRUE(seen->up);
  EXPECT_TRUE(seen->ethernet);
  EXPECT_EQ(find("br")->kind, "bridge");
  EXPECT_EQ(find("br")->mark, "paravane:x:lan");
  EXPECT_EQ(find("br")->mtu, 9000u);
  EXPECT_TRUE(links_->set_master(nic, 0));
  EXPECT_EQ(find("nic")->master, 0);
  EXPECT_TRUE(links_->remove(bridge));
  EXPECT_FALSE(find("br"));
}

TEST_F(LinksTest, SaysNothingOnItByItself) {
  ASSERT_TRUE(links_->add_bridge("br", false));
  const int bridge = find("br")->index;
  ASSERT_TRUE(links_->forbid_own_address(bridge));
  ASSERT_TRUE(links_->set_up(bridge));
  EXPECT_FALSE(network_.ip_shows("-6 address show dev br", "fe80"));
}

TEST_F(LinksTest, AnswersNoQuestionAndTakesNoPacketOnIt) {
  ASSERT_TRUE(links_->add_bridge("br", false));
  ASSERT_TRUE(links_->forbid_ipv4(find("br")->index));
  for (const auto& [name, wanted] : {std::pair("arp_ignore", "8"), std::pair("rp_filter", "1")}) {
    std::string setting;
    std::getline(std::ifstream(std::string("/proc/sys/net/ipv4/conf/br/") + name), setting);
    EXPECT_EQ(setting, wanted) << name;
  }
}

TEST_F(LinksTest, TellsWhatTheKernelSays) {
  ASSERT_TRUE(links_->add_bridge("br", false));
  EXPECT_THAT(links_->add_bridge("br", false).error().message, HasSubstr("File exists"));
  EXPECT_THAT(links_->remove(9999).error().message, HasSubstr("No such device"));
  EXPECT_THAT(links_->set_master(find("lo")->index, find("br")->index).error().message,
              HasSubstr("Invalid argument"));
}

TEST_F(LinksTest, KnowsAddressesThatOthersReachItBy) {
  ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
  ASSERT_TRUE(network_.ip("link set nic up"));
  ASSERT_TRUE(network_.ip("address add 192.0.2.1/24 dev nic"));
  ASSERT_TRUE(network_.ip("address add 169.254.0.1/16 scope link dev nic"));
  const auto addresses = links_->addresses();
  ASSERT_TRUE(addresses);
  EXPECT_THAT(addresses->at(find("nic")->index), testing::ElementsAre("192.0.2.1"));
}

TEST_F(LinksTest, ATapLastsUntilItIsRemoved) {
  ASSERT_TRUE(make_tap("pv-db1", {.group = 54321}));
  EXPECT_TRUE(network_.ip_shows("-details link show pv-db1", "group 54321"));
  EXPECT_FALSE(network_.ip_shows("-details link show pv-db1", "user"));
  EXPECT_EQ(find("pv-db1")->kind, "tun");
  EXPECT_EQ(make_tap("pv-db1", {}).error().code, Errc::kBadState);
  ASSERT_TRUE(links_->remove(find("pv-db1")->index));
  EXPECT_FALSE(find("pv-db1"));
}

TEST_F(LinksTest, ATapIsRootsUnlessItIsAGroups) {
  ASSERT_TRUE(make_tap("pv-db1", {}));
  EXPECT_TRUE(network_.ip_shows("-details link show pv-db1", "user root"));
}

}  // namespace
}  // namespace paravane::ethernet
