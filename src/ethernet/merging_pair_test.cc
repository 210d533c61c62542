// The interfaces and rules of a merging pair. What becomes of frames: merging_traffic_test, and,
// with a kernel that has all parts, tests/guests/test_merging.py.

#include "ethernet/merging_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "ethernet/link_news.h"
#include "ethernet/merging_ability.h"
#include "ethernet/no_news_test.h"
#include "ethernet/roce_port.h"
#include "ethernet/roce_rules.h"
#include "ethernet/tap.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOwned = "paravane:1:";
constexpr MacBytes kAdapter = {0x02, 0x50, 0x56, 0, 0, 9};

TEST(RoceRules, FillInChecksumsBeforeAllElseAndWhereTheyAre) {
  std::vector<std::uint32_t> places;
  for (const TrafficRule& rule : rules_of_filling_end(kAdapter, 7)) {
    if (rule.checksum_at == 0) {
      EXPECT_GT(rule.preference, 4790);
      continue;
    }
    EXPECT_EQ(rule.preference, 4790);
    EXPECT_EQ(rule.act, RuleAct::kSend);
    EXPECT_EQ(rule.to, 7);
    places.push_back(rule.checksum_at);
  }
  EXPECT_THAT(places, ElementsAre(26, 46, 26, 46));
  for (const TrafficRule& rule : rules_of_merging_end(kAdapter, 7)) {
    EXPECT_EQ(rule.checksum_at, 0u);
    EXPECT_EQ(rule.to, rule.act == RuleAct::kDrop ? 0 : 7);
  }
}

TEST(RoceRules, SendOnlyWhatIsMergedToThePair) {
  const auto ways = [](Merges merges, int end) {
    std::vector<int> to;
    for (const TrafficRule& rule :
         rules_to_guest(kAdapter, {.port = 3, .merging_end = end, .merges = merges})) {
      to.push_back(rule.to);
    }
    return to;  // IPv4 and IPv6 to the adapter, RoCE v1, IPv4 and IPv6 to groups
  };
  EXPECT_THAT(ways(Merges::kAll, 5), ElementsAre(5, 5, 3, 5, 5));
  EXPECT_THAT(ways(Merges::kIpv6, 5), ElementsAre(3, 5, 3, 3, 5));
  EXPECT_THAT(ways(Merges::kNothing, 5), ElementsAre(3, 3, 3, 3, 3));
  EXPECT_THAT(ways(Merges::kAll, 0), ElementsAre(3, 3, 3, 3, 3));
}

// What a kernel without the actions cannot do is said, and all else is as with one that has them.
class MergingPairTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(make_tap("pv-db1", {}));
    ASSERT_TRUE(network_.ip("link set pv-db1 up alias paravane:1:db1"));
    has_all_ = find_merging(kOwned).merges != Merges::kNothing;
  }
  void ensure() {
    auto made = ensure_roce_port(kOwned, wanted_);
    ASSERT_TRUE(made) << made.error().message;
    made_ = std::move(*made);
    EXPECT_THAT(made_.problems, IsEmpty());
    if (has_all_) {
      EXPECT_EQ(made_.unmerged, "");
    } else {
      EXPECT_THAT(made_.unmerged, AllOf(HasSubstr("pvf-db1: "), HasSubstr("act_pedit")));
    }
  }
  bool shows(const std::string& link, const std::string& what) const {
    return network_.ip_shows("-details link show dev " + link, what);
  }
  static auto told(const std::string& link, const std::string& text) {
    return Contains(
        AllOf(Field(&LinkChange::link, link), Field(&LinkChange::text, HasSubstr(text))));
  }

  OwnNetwork network_;
  bool has_all_ = false;
  WantedRocePort wanted_{.name = "pvr-db1",
                         .guest_tap = "pv-db1",
                         .mac = kAdapter,
                         .mtu = 9000,
                         .merges = Merges::kAll,
                         .merging_end = "pvm-db1",
                         .filling_end = "pvf-db1"};
  MadeRocePort made_;
};

TEST_F(MergingPairTest, IsMadeOnceAndSilent) {
  ensure();
  for (const char* end : {"pvm-db1", "pvf-db1"}) {
    for (const char* what : {"mtu 9000", "alias paravane:1:pv-db1~", "veth"}) {
      EXPECT_TRUE(shows(end, what)) << end << ": " << what;
    }
    EXPECT_EQ(shows(end, ",UP"), has_all_) << end;
    EXPECT_FALSE(network_.ip_shows(std::string("address show dev ") + end, "inet")) << end;
    EXPECT_TRUE(made_.about.names.contains(end));
  }
  auto features = LinkFeatures::read("pvm-db1");
  ASSERT_TRUE(features);
  EXPECT_THAT(features->differences(features_of_merging_end(*features)), IsEmpty());
  EXPECT_FALSE(features->is_on("tx-udp-segmentation"));
  EXPECT_TRUE(features->is_on("rx-udp-gro-forwarding"));
  if (!has_all_) return;  // what failed is tried again
  auto news = LinkNews::open();
  ASSERT_TRUE(news);
  EXPECT_TRUE(causes_no_news(*news, [this] {
    ensure();
    EXPECT_THAT(made_.changes, IsEmpty());
  }));
  EXPECT_THAT(*check_roce_port(kOwned, wanted_), IsEmpty());
}

TEST_F(MergingPairTest, IsMendedWhereAnotherProgramChangedIt) {
  ASSERT_TRUE(network_.ip("link add br0 type bridge"));
  ensure();
  for (const auto& [command, link, deed] :
       {std::tuple("ip link del pvm-db1", "pvm-db1", "was created again"),
        std::tuple("ip link del pvf-db1", "pvm-db1", "was created again"),
        std::tuple("ip link set pvf-db1 name other", "pvm-db1", "other end was missing"),
        std::tuple("ip link set pvm-db1 name another", "pvf-db1", "other end was missing"),
        std::tuple("ip link set pvm-db1 mtu 1400", "pvm-db1", "MTU was wrong"),
        std::tuple("ip link set pvf-db1 master br0", "pvf-db1", "on a bridge"),
        std::tuple("ip address add 192.0.2.1/24 dev pvm-db1", "pvm-db1", "address, which was rem"),
        std::tuple("sh -c 'echo 0 > /proc/sys/net/ipv6/conf/pvf-db1/disable_ipv6'", "pvf-db1",
                   "IPv6 was enabled"),
        std::tuple("ethtool -K pvm-db1 rx-udp-gro-forwarding off", "pvm-db1", "merged or cut"),
        std::tuple("ethtool -K pvm-db1 tx-udp-segmentation on", "pvm-db1", "merged or cut"),
        std::tuple("ethtool -K pvf-db1 tso on", "pvf-db1", "merged or cut"),
        std::tuple("ethtool -K pvm-db1 gro off", "pvm-db1", "merged or cut")}) {
    ASSERT_EQ(std::system((std::string(command) + " >/dev/null 2>&1").c_str()), 0) << command;
    EXPECT_THAT(*check_roce_port(kOwned, wanted_), testing::Not(IsEmpty())) << command;
    ensure();
    EXPECT_THAT(made_.changes, told(link, deed)) << command;
    ensure();
    EXPECT_THAT(made_.changes, testing::Not(told(link, deed))) << command;
  }
  if (!has_all_) return;
  for (const char* end : {"pvm-db1", "pvf-db1"}) {
    ASSERT_EQ(std::system(("tc qdisc del dev " + std::string(end) + " clsact").c_str()), 0);
    ensure();
    EXPECT_THAT(made_.changes, told(end, "created again")) << end;
    EXPECT_THAT(*check_roce_port(kOwned, wanted_), IsEmpty());
  }
}

TEST_F(MergingPairTest, FollowsTheMtu) {
  ensure();
  wanted_.mtu = 1500;
  ensure();
  EXPECT_TRUE(shows("pvm-db1", "mtu 1500") && shows("pvf-db1", "mtu 1500"));
}

// The port works without it, and says why packets come one by one.
TEST_F(MergingPairTest, LeavesForeignInterfacesAlone) {
  for (const char* name : {"pvm-db1", "pvf-db1"}) {
    ASSERT_TRUE(network_.ip(std::string("link add ") + name + " type veth peer name far"));
    const auto made = ensure_roce_port(kOwned, wanted_);
    ASSERT_TRUE(made);
    EXPECT_THAT(made->problems, IsEmpty());
    EXPECT_THAT(made->unmerged, AllOf(HasSubstr(name), HasSubstr("did not create")));
    EXPECT_FALSE(shows(name, ",UP"));
    EXPECT_TRUE(remove_roce_port(kOwned, "pvr-db1", "pv-db1"));
    EXPECT_TRUE(network_.is_there(name));
    ASSERT_TRUE(network_.ip(std::string("link del ") + name));
  }
}

TEST_F(MergingPairTest, GoesWithItsPort) {
  ensure();
  EXPECT_TRUE(remove_roce_port("paravane:2:", "pvr-db1", "pv-db1"));
  EXPECT_TRUE(network_.is_there("pvm-db1"));
  EXPECT_TRUE(remove_roce_port(kOwned, "pvr-db1", "pv-db1"));
  EXPECT_FALSE(network_.is_there("pvm-db1"));
  EXPECT_FALSE(network_.is_there("pvf-db1"));
  EXPECT_FALSE(network_.is_there("pvr-db1"));
}

// As after a daemon that died between two steps.
TEST_F(MergingPairTest, IsFoundWhereItsPortIsGone) {
  ensure();
  ASSERT_TRUE(network_.ip("link del pvr-db1"));
  const auto ports = list_roce_ports(kOwned);
  ASSERT_TRUE(ports);
  ASSERT_EQ(ports->size(), 1u);
  EXPECT_EQ(ports->front().name, "");
  EXPECT_EQ(ports->front().guest_tap, "pv-db1");
  EXPECT_TRUE(remove_roce_port(kOwned, "", "pv-db1"));
  EXPECT_THAT(*list_roce_ports(kOwned), IsEmpty());
  EXPECT_FALSE(network_.is_there("pvm-db1"));
}

TEST_F(MergingPairTest, IsRemovedWhereNothingIsMergedAnyMore) {
  ensure();
  wanted_.merges = Merges::kNothing;
  const auto made = ensure_roce_port(kOwned, wanted_);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->changes, told("pvr-db1", "no longer needed"));
  EXPECT_FALSE(network_.is_there("pvm-db1"));
  EXPECT_THAT(*check_roce_port(kOwned, wanted_), IsEmpty());
}

TEST_F(MergingPairTest, TheSwitchDoesNotTakeItForOneOfItsLinks) {
  ensure();
  ASSERT_TRUE(make_links(
      kOwned, {.bridges = {}, .taps = {}, .uplinks = {}, .given = {}, .tap_access = {}}));
  EXPECT_TRUE(network_.is_there("pvm-db1") && network_.is_there("pvf-db1"));
}

TEST_F(MergingPairTest, RefusesANameThatIsTooLong) {
  wanted_.filling_end = "pvf-db1234567890";
  EXPECT_EQ(ensure_roce_port(kOwned, wanted_).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace paravane::ethernet
