#include "ethernet/seen_links.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

class SeenLinksTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
    auto links = Links::open();
    ASSERT_TRUE(links) << links.error().message;
    links_ = std::move(*links);
    seen_.emplace(*links_, mark_);
  }
  void look() { ASSERT_TRUE(seen_->look()); }
  void mark(const std::string& link, const std::string& alias) {
    ASSERT_TRUE(network_.ip("link set dev " + link + " alias " + alias));
  }
  bool is_ours(const std::string& link) { return seen_->is_ours(*seen_->find(link)); }

  OwnNetwork network_;
  const std::string mark_ = "paravane:1:";
  std::optional<Links> links_;
  std::optional<SeenLinks> seen_;
};

TEST_F(SeenLinksTest, FindsWhatIsThereByNameAndByNumber) {
  look();
  const Link* nic = seen_->find("nic");
  ASSERT_NE(nic, nullptr);
  EXPECT_EQ(seen_->find(nic->index), nic);
  EXPECT_EQ(seen_->find("other"), nullptr);
  EXPECT_EQ(seen_->find(0), nullptr);
  EXPECT_EQ(seen_->find("nic")->name, "nic");
  seen_->forget(seen_->all().find("nic"));
  EXPECT_EQ(seen_->find("nic"), nullptr);
}

TEST_F(SeenLinksTest, KnowsItsOwnByMarkAndKind) {
  ASSERT_TRUE(network_.ip("link add ours type bridge"));
  ASSERT_TRUE(network_.ip("link add theirs type bridge"));
  ASSERT_TRUE(network_.ip("link add host type veth peer name host-port"));
  mark("ours", "paravane:1:lan");
  mark("theirs", "paravane:2:lan");
  mark("nic", "paravane:1:lan");
  mark("host", "paravane:1:host");
  mark("host-port", "paravane:1:host+");
  look();
  EXPECT_TRUE(is_ours("ours"));
  EXPECT_FALSE(is_ours("theirs"));
  EXPECT_FALSE(is_ours("nic"));
  EXPECT_FALSE(is_ours("far"));
  EXPECT_TRUE(is_ours("host"));
  EXPECT_TRUE(is_ours("host-port"));
}

TEST_F(SeenLinksTest, ANicMayBeAnUplinkOfOurBridgesAlone) {
  ASSERT_TRUE(network_.ip("link add ours type bridge"));
  ASSERT_TRUE(network_.ip("link add theirs type bridge"));
  mark("ours", "paravane:1:lan");
  const auto why = [this](const std::string& link) {
    look();
    return seen_->why_not_uplink(*seen_->find(link)).value_or("");
  };
  EXPECT_EQ(why("nic"), "");
  EXPECT_EQ(why("lo"), "it is not an Ethernet interface");
  EXPECT_EQ(why("theirs"), "it is a bridge");
  ASSERT_TRUE(network_.ip("link set dev nic master theirs"));
  EXPECT_EQ(why("nic"), "it belongs to theirs, which Paravane does not manage");
  ASSERT_TRUE(network_.ip("link set dev nic master ours"));
  EXPECT_EQ(why("nic"), "");
}

TEST_F(SeenLinksTest, AnAddressOfANetworkThatAnotherHasIsNone) {
  ASSERT_TRUE(network_.ip("addr add 10.1.0.1/16 dev far"));
  look();
  const Link& nic = *seen_->find("nic");
  const auto why = [&](const std::string& address) {
    return seen_->why_not_address(nic, *parse_ipv4_interface(address)).value_or("");
  };
  EXPECT_EQ(why("10.1.2.3/24"),
            "its network 10.1.2.3/24 is already used by far, which has 10.1.0.1/16: no address is "
            "set");
  EXPECT_EQ(why("10.2.0.1/16"), "");
  EXPECT_TRUE(seen_->ipv4(nic.index).empty());
  EXPECT_EQ(seen_->ipv4(seen_->find("far")->index).size(), 1u);
  EXPECT_EQ(seen_->addresses(seen_->find("far")->index).size(), 1u);
}

}  // namespace
}  // namespace paravane::ethernet
