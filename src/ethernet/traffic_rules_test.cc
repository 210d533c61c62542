#include "ethernet/traffic_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "ethernet/frame_filter.h"
#include "ethernet/ipv6_off.h"
#include "ethernet/links.h"
#include "testing/own_network.h"
#include "testing/tap_end.h"

namespace paravane::ethernet {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

bool run_tc(const std::string& words) {
  return std::system(("tc " + words + " >/dev/null 2>&1").c_str()) == 0;
}

class TrafficRulesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    auto rules = TrafficRules::open();
    ASSERT_TRUE(rules) << rules.error().message;
    rules_.emplace(std::move(*rules));
    one_.emplace("one");
    two_.emplace("two");
    ASSERT_TRUE(one_->is_open() && two_->is_open());
    for (const char* name : {"one", "two"}) {
      ASSERT_TRUE(turn_ipv6_off(name));
      ASSERT_TRUE(network_.ip(std::string("link set dev ") + name + " up arp off"));
    }
    first_ = index_of("one");
    second_ = index_of("two");
  }
  static int index_of(const std::string& name) {
    for (const Link& link : *Links::open()->list()) {
      if (link.name == name) return link.index;
    }
    return 0;
  }
  TrafficRule take_type(std::uint16_t type, std::uint32_t number = 1) const {
    return {.preference = 7,
            .number = number,
            .program = FrameFilter().half_is(12, type).program(),
            .act = RuleAct::kSend,
            .to = second_};
  }
  static TapEnd::Frame frame_of_type(std::uint16_t type) {
    TapEnd::Frame frame(60, 0x02);
    frame[12] = static_cast<std::uint8_t>(type >> 8);
    frame[13] = static_cast<std::uint8_t>(type);
    return frame;
  }
  std::vector<ListedRule> listed() {
    auto all = rules_->list(first_, Direction::kReceived);
    EXPECT_TRUE(all) << all.error().message;
    return all ? *all : std::vector<ListedRule>();
  }
  void set(const TrafficRule& rule) {
    const Status done = rules_->set(first_, Direction::kReceived, rule);
    EXPECT_TRUE(done) << done.error().message;
  }

  OwnNetwork network_;
  std::optional<TrafficRules> rules_;
  std::optional<TapEnd> one_;
  std::optional<TapEnd> two_;
  int first_ = 0;
  int second_ = 0;
};

TEST_F(TrafficRulesTest, ListsWhatItHasSet) {
  EXPECT_EQ(rules_->hook(first_).value(), "");
  EXPECT_THAT(listed(), IsEmpty());
  ASSERT_TRUE(rules_->add_hook(first_));
  EXPECT_EQ(rules_->hook(first_).value(), "clsact");
  EXPECT_THAT(rules_->add_hook(first_).error().cause, std::errc::file_exists);
  const std::vector<TrafficRule> wanted = {drop_all(8, 1), take_type(0x8915), take_type(0x88B5, 2)};
  EXPECT_THAT(compare(listed(), wanted).missing, SizeIs(3));
  for (const TrafficRule& rule : wanted) set(rule);
  EXPECT_THAT(listed(), SizeIs(3));
  EXPECT_TRUE(compare(listed(), wanted).is_good());
  EXPECT_THAT(compare(listed(), wanted).foreign, IsEmpty());
  EXPECT_THAT(*rules_->list(first_, Direction::kSent), IsEmpty());
  EXPECT_THAT(*rules_->list(second_, Direction::kReceived), IsEmpty());
  set(take_type(0x88B6, 2));
  EXPECT_THAT(listed(), SizeIs(3));
  EXPECT_THAT(compare(listed(), wanted).missing, SizeIs(1));
  ASSERT_TRUE(rules_->remove(first_, Direction::kReceived, wanted[1]));
  EXPECT_THAT(compare(listed(), wanted).missing, SizeIs(2));
  EXPECT_THAT(compare(listed(), {drop_all(8, 1)}).unwanted, SizeIs(1));
  ASSERT_TRUE(rules_->remove_hook(first_));
  EXPECT_EQ(rules_->hook(first_).value(), "");
}

TEST_F(TrafficRulesTest, TakesFramesThatMatchAndDropsAndCountsTheOthers) {
  ASSERT_TRUE(rules_->add_hook(first_));
  set(drop_all(8, 1));
  set(take_type(0x8915));
  // The tap's queue exists a moment after its carrier.
  std::optional<TapEnd::Frame> got;
  for (int i = 0; i < 500 && !got; ++i) {
    ASSERT_TRUE(one_->write(frame_of_type(0x8915)));
    got = two_->read(10);
  }
  EXPECT_EQ(got, frame_of_type(0x8915));
  const std::uint64_t before = rules_->dropped(first_).value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(one_->write(frame_of_type(0x88B5)));
  ASSERT_TRUE(one_->write(frame_of_type(0x8915)));
  EXPECT_EQ(two_->read(5000), frame_of_type(0x8915));
  EXPECT_EQ(rules_->dropped(first_).value(), before + 5);
  EXPECT_EQ(rules_->dropped(second_).value(), 0u);
}

TEST_F(TrafficRulesTest, ARuleToAnInterfaceThatIsGoneDiffers) {
  ASSERT_TRUE(rules_->add_hook(first_));
  set(take_type(0x8915));
  ASSERT_TRUE(network_.ip("link del two"));
  ASSERT_THAT(listed(), SizeIs(1));
  EXPECT_EQ(listed()[0].rule.to, 0);
  EXPECT_TRUE(listed()[0].marked);
  EXPECT_THAT(compare(listed(), {take_type(0x8915)}).missing, SizeIs(1));
}

TEST_F(TrafficRulesTest, TellsRulesOfOtherPrograms) {
  ASSERT_TRUE(run_tc("qdisc add dev one clsact"));
  ASSERT_TRUE(run_tc("filter add dev one ingress pref 7 protocol all bpf da bytecode '1,6 0 0 0'"));
  ASSERT_TRUE(
      run_tc("filter add dev one ingress pref 9 protocol ip bpf bytecode '1,6 0 0 1' "
             "action mirred egress redirect dev two"));
  const RuleDifference difference = compare(listed(), {take_type(0x8915)});
  EXPECT_THAT(difference.missing, SizeIs(1));
  EXPECT_THAT(difference.unwanted, IsEmpty());
  EXPECT_THAT(difference.foreign, SizeIs(2));
}

TEST_F(TrafficRulesTest, SeesAHookOfAnotherKind) {
  ASSERT_TRUE(run_tc("qdisc add dev one ingress"));
  EXPECT_EQ(rules_->hook(first_).value(), "ingress");
  EXPECT_FALSE(rules_->add_hook(first_));
}

TEST_F(TrafficRulesTest, TellsWhatTheKernelSays) {
  EXPECT_EQ(rules_->add_hook(9999).error().code, Errc::kIo);
  EXPECT_THAT(rules_->set(first_, Direction::kReceived, take_type(0x8915)).error().message,
              testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace paravane::ethernet
