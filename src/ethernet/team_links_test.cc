// Uplinks of which one at a time carries the frames of a switch, as make_links() keeps them.

#include "ethernet/team_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "ethernet/links.h"
#include "ethernet/switch_links_test.h"

namespace paravane::ethernet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TeamLinksTest : public SwitchLinksTest {
 protected:
  void SetUp() override {
    SwitchLinksTest::SetUp();
    ASSERT_TRUE(network_.ip("link add nic2 type veth peer name far2"));
    for (const char* far : {"far", "far2"})
      ASSERT_TRUE(network_.ip(std::string("link set up dev ") + far));
    wanted_.given = {"nic", "nic2"};
    for (const char* nic : {"nic", "nic2"}) {
      const std::string parking = std::string("pvs-+") + nic;
      wanted_.bridges.push_back({.name = parking, .label = "lan", .is_parking = true});
      wanted_.uplinks.push_back({.name = nic, .bridge = "pvs-lan", .parking = parking});
    }
    wanted_.teams = {
        {.name = "lan",
         .members = {{.name = "nic", .ports = {"nic"}}, {.name = "nic2", .ports = {"nic2"}}}}};
    // Down until now, they have no link yet.
    make();
    make();
  }
  void cut(const std::string& far, bool is_cut = true) {
    ASSERT_TRUE(network_.ip("link set " + std::string(is_cut ? "down" : "up") + " dev " + far));
  }
};

TEST_F(TeamLinksTest, OneUplinkIsOnTheBridgeAndTheOtherWaitsOnABridgeThatIsDown) {
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_THAT(changes(), IsEmpty());
  EXPECT_EQ(made_.active["lan"], "nic");
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
  EXPECT_TRUE(is_on("nic2", "pvs-+nic2"));
  EXPECT_TRUE(network_.ip_shows("link show dev nic2", ",UP"));
  EXPECT_FALSE(network_.ip_shows("link show dev pvs-+nic2", ",UP"));
  EXPECT_FALSE(network_.ip_shows("link show dev pvs-+nic", ",UP"));
}

TEST_F(TeamLinksTest, TheStandbyTakesOverAndTheFirstComesBack) {
  cut("far");
  EXPECT_THAT(make(), ElementsAre(problem("nic", "it has no link: nic2 carries the frames")));
  EXPECT_THAT(made_.takeovers, ElementsAre(Takeover{.team = "lan", .from = "nic", .to = "nic2"}));
  EXPECT_TRUE(is_on("nic2", "pvs-lan"));
  EXPECT_TRUE(is_on("nic", "pvs-+nic"));
  make();
  EXPECT_THAT(made_.takeovers, IsEmpty());
  cut("far", false);
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_THAT(made_.takeovers, ElementsAre(Takeover{.team = "lan", .from = "nic2", .to = "nic"}));
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
  EXPECT_TRUE(is_on("nic2", "pvs-+nic2"));
}

TEST_F(TeamLinksTest, NothingMovesIfNoUplinkHasALink) {
  cut("far2");
  EXPECT_THAT(make(), ElementsAre(problem("nic2", "it has no link: nic carries")));
  cut("far");
  EXPECT_THAT(make(), ElementsAre(problem("nic", "and no other uplink of the team has one"),
                                  problem("nic2", "it has no link")));
  EXPECT_THAT(made_.takeovers, IsEmpty());
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
}

TEST_F(TeamLinksTest, AnUplinkThatIsGoneIsReplaced) {
  wanted_.teams[0].last = "nic";
  ASSERT_TRUE(network_.ip("link del nic"));
  make();
  EXPECT_THAT(made_.takeovers, ElementsAre(Takeover{.team = "lan", .from = "nic", .to = "nic2"}));
  EXPECT_TRUE(is_on("nic2", "pvs-lan"));
}

// The kernel would let frames pass both.
TEST_F(TeamLinksTest, TwoAreNeverOnTheBridgeWhateverOthersDo) {
  ASSERT_TRUE(network_.ip("link set nic2 master pvs-lan"));
  ASSERT_TRUE(network_.ip("link set pvs-+nic2 up"));
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
  EXPECT_TRUE(is_on("nic2", "pvs-+nic2"));
  EXPECT_FALSE(network_.ip_shows("link show dev pvs-+nic2", ",UP"));
  EXPECT_THAT(made_.takeovers, IsEmpty());
  ASSERT_TRUE(network_.ip("link set nic nomaster"));
  make();
  EXPECT_THAT(changes(), ElementsAre("nic: it was not on its bridge and was added to it"));
  EXPECT_THAT(made_.takeovers, IsEmpty());
}

// Its parking bridge is another program's: it cannot leave the bridge, and the other stays off it.
TEST_F(TeamLinksTest, OneThatCannotBeSetAsideKeepsTheOtherOff) {
  ASSERT_TRUE(network_.ip("link del pvs-+nic"));
  ASSERT_TRUE(network_.ip("tuntap add pvs-+nic mode tap"));
  cut("far");
  EXPECT_THAT(make(), testing::Contains(problem("nic", "it stays on the bridge")));
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
  EXPECT_FALSE(is_on("nic2", "pvs-lan"));
}

TEST_F(TeamLinksTest, ATakeoverAnnouncesTheAddressesBehindTheBridge) {
  for (const char* words : {"link add heard type bridge", "link set far2 master heard",
                            "link set heard up", "link add vm type veth peer name vm-far",
                            "link set vm master pvs-lan up", "link set vm-far up"}) {
    ASSERT_TRUE(network_.ip(words)) << words;
  }
  auto links = Links::open();
  ASSERT_TRUE(links);
  // What a bridge would learn from a frame.
  ASSERT_TRUE(network_.bridge("fdb replace 02:00:00:00:00:07 dev vm master dynamic"));
  cut("far");
  make();
  int heard = 0;
  const auto all = links->list();
  ASSERT_TRUE(all);
  for (const Link& link : *all) {
    if (link.name == "heard") heard = link.index;
  }
  const auto learned = links->bridge_addresses(heard);
  ASSERT_TRUE(learned) << learned.error().message;
  constexpr std::array<std::uint8_t, 6> kVm{2, 0, 0, 0, 0, 7};
  EXPECT_THAT(*learned, testing::Contains(testing::Field(&BridgeAddress::mac, kVm)));
  EXPECT_TRUE(is_on("nic2", "pvs-lan"));
}

}  // namespace
}  // namespace paravane::ethernet
