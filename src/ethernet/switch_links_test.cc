#include "ethernet/switch_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "ethernet/no_news_test.h"
#include "ethernet/switch_links_test.h"

namespace paravane::ethernet {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SwitchLinksTest, MakesWhatIsWantedOnce) {
  want_uplink();
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(make(), IsEmpty()) << round;
    EXPECT_TRUE(is_on("pv-db1", "pvs-lan"));
    EXPECT_TRUE(is_on("nic", "pvs-lan"));
    for (const char* link : {"pvs-lan", "pv-db1", "nic"}) {
      EXPECT_TRUE(network_.ip_shows(std::string("link show dev ") + link, ",UP")) << link;
    }
  }
  EXPECT_TRUE(network_.ip_shows("link show dev pv-db1", "alias paravane:1:db1"));
  EXPECT_FALSE(network_.ip_shows("link show dev nic", "alias"));
  EXPECT_FALSE(network_.ip_shows("-6 address", "fe80::1"));
}

TEST_F(SwitchLinksTest, ATapThatIsForRootIsNoGroups) {
  wanted_.tap_access.group = 12345;
  wanted_.taps.push_back(
      {.name = "vmnic32", .bridge = "pvs-lan", .label = "uplink:vmnic32", .is_for_root = true});
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_TRUE(network_.ip_shows("-details link show dev pv-db1", "group 12345"));
  EXPECT_FALSE(network_.ip_shows("-details link show dev vmnic32", "group 12345"));
  EXPECT_TRUE(network_.ip_shows("-details link show dev vmnic32", "user root"));
  EXPECT_TRUE(network_.ip_shows("link show dev vmnic32", "alias paravane:1:uplink:vmnic32"));
  EXPECT_TRUE(is_on("vmnic32", "pvs-lan"));
  // A VM has no network through a tap that was created again; of an uplink that is not true.
  ASSERT_TRUE(network_.ip("link del vmnic32"));
  make();
  EXPECT_THAT(changes(), ElementsAre("vmnic32: it was missing and was created again"));
}

TEST_F(SwitchLinksTest, ALoneUplinkWithoutALinkIsTold) {
  want_uplink();
  wanted_.taps.push_back({.name = "vmnic32", .bridge = "pvs-lan", .label = "uplink:vmnic32"});
  wanted_.alone = {{.name = "nic", .ports = {"nic"}},
                   {.name = "vmnic32", .ports = {"vmnic32"}},
                   {.name = "gone", .ports = {"gone"}}};
  // Down until now, they have no link yet.
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_THAT(make(),
              ElementsAre(problem("nic", "it has no link"), problem("vmnic32", "it has no link")));
  for (const LinkProblem& one : made_.problems) EXPECT_TRUE(one.no_link);
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
  ASSERT_TRUE(network_.ip("link set up dev far"));
  EXPECT_THAT(make(), ElementsAre(problem("vmnic32", "it has no link")));
}

// Who follows the interfaces would look again for ever.
TEST_F(SwitchLinksTest, TouchesNothingThatIsAsItIsWanted) {
  wanted_.bridges[0].vlan_aware = *bridges_filter_vlans("paravane:1:");
  wanted_.own = {
      {.name = "vmk1",
       .mac = {2, 0, 0, 0, 0, 7},
       .ipv4 = Ipv4Interface{.address = 0x0A070001, .prefix = 24},
       .port = {.name = "vmk1-port", .bridge = "pvs-lan", .untagged = 5, .label = "vmk1"}}};
  want_uplink();
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_THAT(changes(), testing::Not(IsEmpty()));
  auto news = LinkNews::open();
  ASSERT_TRUE(news);
  make();  // now that links have come up
  EXPECT_THAT(changes(), IsEmpty());
  EXPECT_TRUE(causes_no_news(*news, [this] {
    make();
    EXPECT_THAT(changes(), IsEmpty());
  }));
}

TEST_F(SwitchLinksTest, TellsWhatItHasMended) {
  want_uplink();
  make();
  for (const auto& [broken, told] : {
           std::pair("link set nic nomaster", "nic: it was not on its bridge and was added to it"),
           std::pair("link set nic down", "nic: it was down and was brought up"),
           std::pair("link set pvs-lan down", "pvs-lan: it was down and was brought up"),
           std::pair("link set pv-db1 nomaster",
                     "pv-db1: it was not on its bridge and was added to it"),
           std::pair("link set pv-db1 mtu 1300", "pv-db1: its MTU was wrong and was corrected"),
           std::pair("link del pvs-lan", "pvs-lan: it was missing and was created again"),
           std::pair("link del pv-db1", "pv-db1: it was missing and was created again"),
       }) {
    ASSERT_TRUE(network_.ip(broken)) << broken;
    EXPECT_THAT(make(), IsEmpty()) << broken;
    EXPECT_THAT(changes(), testing::Contains(HasSubstr(told))) << broken;
    EXPECT_TRUE(is_on("pv-db1", "pvs-lan") && is_on("nic", "pvs-lan")) << broken;
    make();
    EXPECT_THAT(changes(), IsEmpty()) << broken;
  }
}

TEST_F(SwitchLinksTest, FindsAnUplinkThatIsCalledOtherwiseNowAndSaysSo) {
  want_uplink();
  make();
  ASSERT_TRUE(network_.ip("link set nic down"));
  ASSERT_TRUE(network_.ip("link set nic name ens5"));
  ASSERT_TRUE(network_.ip("link set ens5 nomaster"));
  EXPECT_THAT(make(), ElementsAre(problem("nic", "it was renamed to ens5")));
  EXPECT_TRUE(is_on("ens5", "pvs-lan"));
  EXPECT_TRUE(network_.ip_shows("link show dev ens5", ",UP"));
  EXPECT_THAT(make(), ElementsAre(problem("nic", "it was renamed to ens5")));
  EXPECT_THAT(changes(), IsEmpty());
  ASSERT_TRUE(network_.ip("link set ens5 down"));
  ASSERT_TRUE(network_.ip("link set ens5 name nic"));
  EXPECT_THAT(make(), IsEmpty());
}

// The name alone was given, and what has it now is another.
TEST_F(SwitchLinksTest, TakesNoOtherNicForOneThatIsGone) {
  want_uplink();
  wanted_.taps.clear();
  ASSERT_TRUE(network_.ip("link del nic"));
  ASSERT_TRUE(network_.ip("tuntap add nic mode tap"));  // one of its kind
  EXPECT_THAT(make(), IsEmpty());
  ASSERT_TRUE(network_.ip("link del nic"));
  ASSERT_TRUE(network_.ip("tuntap add ens5 mode tap"));
  EXPECT_THAT(make(), ElementsAre(problem("nic", "no such NIC on this host")));
  EXPECT_FALSE(is_on("ens5", "pvs-lan"));
  EXPECT_TRUE(made_.about.strangers);  // it may come back as anything
}

TEST_F(SwitchLinksTest, ThisHostIsNotReachedByItsBridges) {
  for (const auto& [name, wanted] : {std::pair("ipv4/conf/pvs-lan/arp_ignore", "8"),
                                     std::pair("ipv4/conf/pvs-lan/rp_filter", "1"),
                                     std::pair("ipv6/conf/pvs-lan/disable_ipv6", "1")}) {
    const std::string file = std::string("/proc/sys/net/") + name;
    const auto setting = [&file] {
      std::string text;
      std::getline(std::ifstream(file), text);
      return text;
    };
    make();
    EXPECT_EQ(setting(), wanted) << name;
    std::ofstream(file) << "0\n";
    make();  // of an earlier daemon, or somebody's change
    EXPECT_EQ(setting(), wanted) << name;
  }
}

TEST_F(SwitchLinksTest, RemovesWhatIsNoLongerWantedAndLetsTheNicGo) {
  want_uplink();
  make();
  wanted_ = {.bridges = {}, .taps = {}, .uplinks = {}, .given = {"nic"}, .tap_access = {}};
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_FALSE(network_.is_there("pvs-lan"));
  EXPECT_FALSE(network_.is_there("pv-db1"));
  EXPECT_TRUE(network_.is_there("nic"));
}

TEST_F(SwitchLinksTest, TakesTheNicOffABridgeThatStays) {
  want_uplink();
  make();
  wanted_.uplinks.clear();
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_FALSE(is_on("nic", "pvs-lan"));
}

TEST_F(SwitchLinksTest, MendsWhatSomebodyChanged) {
  make();
  ASSERT_TRUE(network_.ip("link set pv-db1 nomaster down mtu 1400"));
  ASSERT_TRUE(network_.ip("link delete pvs-lan"));
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_TRUE(is_on("pv-db1", "pvs-lan"));
  EXPECT_TRUE(network_.ip_shows("link show dev pv-db1", "mtu 1500"));
}

TEST_F(SwitchLinksTest, GrowsToAnotherMtu) {
  make();
  wanted_.bridges[0].mtu = 9000;
  want_uplink();
  EXPECT_THAT(make(), ElementsAre(problem("nic", "ip link set nic mtu 9000")));
  EXPECT_TRUE(network_.ip_shows("link show dev pvs-lan", "mtu 9000"));
  EXPECT_TRUE(network_.ip_shows("link show dev pv-db1", "mtu 9000"));
  EXPECT_TRUE(network_.ip_shows("link show dev nic", "mtu 1500"));
}

TEST_F(SwitchLinksTest, LeavesAForeignBridgeOfThisNameAlone) {
  ASSERT_TRUE(network_.ip("link add pvs-lan mtu 1300 type bridge"));
  want_uplink();
  EXPECT_THAT(make(), ElementsAre(problem("pvs-lan", "did not create"),
                                  problem("pv-db1", "its bridge pvs-lan does not exist"),
                                  problem("nic", "its bridge pvs-lan does not exist")));
  EXPECT_TRUE(network_.ip_shows("link show dev pvs-lan", "mtu 1300"));
  EXPECT_FALSE(network_.ip_shows("link show dev pvs-lan", ",UP"));
  EXPECT_FALSE(is_on("nic", "pvs-lan"));
  wanted_ = {};
  make();
  EXPECT_TRUE(network_.is_there("pvs-lan"));
}

TEST_F(SwitchLinksTest, LeavesAForeignTapOfThisNameAlone) {
  ASSERT_TRUE(network_.ip("tuntap add pv-db1 mode tap"));
  EXPECT_THAT(make(), ElementsAre(problem("pv-db1", "did not create")));
  EXPECT_FALSE(is_on("pv-db1", "pvs-lan"));
}

TEST_F(SwitchLinksTest, LeavesWhatAnotherDaemonMadeAlone) {
  make("paravane:1:");
  EXPECT_THAT(make("paravane:2:"), ElementsAre(problem("pvs-lan", "did not create"),
                                               problem("pv-db1", "did not create")));
  wanted_ = {};
  make("paravane:2:");
  EXPECT_TRUE(network_.is_there("pvs-lan"));
  EXPECT_TRUE(network_.is_there("pv-db1"));
}

TEST_F(SwitchLinksTest, ANicWithItsMarkIsStillNotItsOwn) {
  ASSERT_TRUE(network_.ip("link set nic alias paravane:1:db9"));
  wanted_ = {};
  make();
  EXPECT_TRUE(network_.is_there("nic"));
}

TEST_F(SwitchLinksTest, MakesAnInterfaceOfTheHostItselfOnABridge) {
  wanted_.own = {{.name = "vmk1",
                  .mac = {2, 0x50, 0x56, 0, 0, 9},
                  .ipv4 = parse_ipv4_interface("192.168.9.1/24"),
                  .port = {.name = "vmk1-port", .bridge = "pvs-lan", .label = "vmk1"}}};
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(make(), IsEmpty()) << round;
    EXPECT_TRUE(is_on("vmk1-port", "pvs-lan"));
    EXPECT_TRUE(network_.ip_shows("address show dev vmk1", "inet 192.168.9.1/24"));
    EXPECT_TRUE(network_.ip_shows("link show dev vmk1", "02:50:56:00:00:09"));
    EXPECT_FALSE(network_.ip_shows("address show dev vmk1", "inet6"));
  }
  // Of an earlier daemon, with what a guest has told it.
  std::ofstream("/proc/sys/net/ipv6/conf/vmk1/disable_ipv6") << "0\n";
  ASSERT_TRUE(network_.ip("-6 route add default via fe80::bad dev vmk1"));
  wanted_.own[0].ipv4 = parse_ipv4_interface("192.168.8.1/24");
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_FALSE(network_.ip_shows("-6 route", "default"));
  EXPECT_FALSE(network_.ip_shows("address show dev vmk1", "192.168.9.1"));
  EXPECT_TRUE(network_.ip_shows("address show dev vmk1", "192.168.8.1/24"));
  wanted_.own.clear();
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_FALSE(network_.is_there("vmk1"));
  EXPECT_FALSE(network_.is_there("vmk1-port"));
}

TEST_F(SwitchLinksTest, GivesNoAddressOfANetworkThatIsThere) {
  ASSERT_TRUE(network_.ip("address add 192.168.9.7/24 dev far"));
  wanted_.own = {{.name = "vmk1",
                  .mac = {2, 0x50, 0x56, 0, 0, 9},
                  .ipv4 = parse_ipv4_interface("192.168.9.1/25"),
                  .port = {.name = "vmk1-port", .bridge = "pvs-lan", .label = "vmk1"}}};
  EXPECT_THAT(make(), ElementsAre(problem("vmk1", "is already used by far")));
  EXPECT_FALSE(network_.ip_shows("address show dev vmk1", "inet 192"));
}

TEST_F(SwitchLinksTest, TakesNoNicOfSomebodyElsesBridge) {
  ASSERT_TRUE(network_.ip("link add br0 type bridge"));
  ASSERT_TRUE(network_.ip("link set nic master br0"));
  want_uplink();
  EXPECT_THAT(make(), ElementsAre(problem("nic", "it belongs to br0")));
  EXPECT_TRUE(is_on("nic", "br0"));
}

TEST_F(SwitchLinksTest, TakesNoBridgeTapOrLoopbackForAnUplink) {
  ASSERT_TRUE(network_.ip("link add br0 type bridge"));
  for (const char* name : {"lo", "br0", "pv-db1", "nowhere"}) {
    wanted_.uplinks = {{.name = name, .bridge = "pvs-lan"}};
    make();
    EXPECT_THAT(make(), ElementsAre(Field(&LinkProblem::link, name))) << name;
  }
  EXPECT_TRUE(is_on("pv-db1", "pvs-lan"));
}

TEST_F(SwitchLinksTest, LeavesANicOnItsBridgeThatNobodyGave) {
  make();
  ASSERT_TRUE(network_.ip("link set nic master pvs-lan"));
  wanted_.given.clear();
  EXPECT_THAT(make(), ElementsAre(problem("pvs-lan", "nic is on this bridge")));
  EXPECT_TRUE(is_on("nic", "pvs-lan"));
}

TEST_F(SwitchLinksTest, SaysThatTheNicHasAnAddressOfTheHost) {
  ASSERT_TRUE(network_.ip("link set nic up"));
  ASSERT_TRUE(network_.ip("address add 192.0.2.1/24 dev nic"));
  want_uplink();
  EXPECT_THAT(make(), ElementsAre(problem("nic", "192.0.2.1")));
  EXPECT_TRUE(network_.ip_shows("address show dev nic", "192.0.2.1/24"));
}

TEST_F(SwitchLinksTest, MovesATapToAnotherBridge) {
  wanted_.bridges.push_back({.name = "pvs-dmz", .label = "dmz"});
  make();
  wanted_.taps[0].bridge = "pvs-dmz";
  EXPECT_THAT(make(), IsEmpty());
  EXPECT_TRUE(is_on("pv-db1", "pvs-dmz"));
}

TEST_F(SwitchLinksTest, KnowsWhetherBridgesFilterVlansAndLeavesNothingBehind) {
  const auto filter = bridges_filter_vlans("paravane:1:");
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_FALSE(network_.ip_shows("link", "pvP"));
  // As ip(8) sees it.
  network_.ip("link add br0 type bridge vlan_filtering 1");
  EXPECT_EQ(*filter, network_.ip_shows("-details link show br0", "vlan_filtering 1"));
}

}  // namespace
}  // namespace paravane::ethernet
