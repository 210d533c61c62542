// Who follows what the kernel tells, in a network namespace of its own; time is the test's
// where it can be.

#include "keeper/switch_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keeper/switch_builder.h"
#include "testing/own_network.h"

namespace paravane::keeper {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kMoment = std::chrono::milliseconds(1);
constexpr const char* kPlan = "7 paravane-switch-plan 1;switch lan 1500 -;";
constexpr const char* kEmptyPlan = "8 paravane-switch-plan 1;";

// Makes nothing; its switches are about one interface.
class CountingSwitches final : public LocalSwitches {
 public:
  privsep::SwitchReport make(const privsep::SwitchPlan& /*plan*/) override {
    ++times;
    return report;
  }
  std::vector<Ipv4Interface> addresses() const override { return {}; }
  std::vector<OpenedRocePort> take_opened_ports() override { return {}; }
  void take_back(const OpenedRocePort& /*port*/) override {}
  std::vector<OpenedUplinkTap> take_opened_taps() override { return {}; }
  void take_back(const OpenedUplinkTap& /*tap*/) override {}
  void take_back_all() override {}
  ethernet::KnownNics known() const override { return nics; }
  void know(ethernet::KnownNics known) override { nics = std::move(known); }
  const ethernet::LinkFilter& about() const override { return filter; }

  int times = 0;
  ethernet::KnownNics nics;
  privsep::SwitchReport report{.switches = {{.name = "lan"}}};
  ethernet::LinkFilter filter{.names = {"nic"}};
};

class SwitchFollowerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
    auto loop = EventLoop::create();
    ASSERT_TRUE(loop);
    loop_ = std::move(*loop);
    auto switches = std::make_unique<CountingSwitches>();
    switches_ = switches.get();
    follow(std::move(switches));
  }
  void follow(std::unique_ptr<LocalSwitches> switches, bool always = false) {
    follower_.reset();
    follower_ = std::make_unique<SwitchFollower>(*loop_, std::move(switches), always,
                                                 [this](const std::string& news) {
                                                   if (hears_) told_.push_back(news);
                                                   return hears_;
                                                 });
  }
  // Takes what the kernel has told by now. How often it was heard.
  int hear() {
    const auto ran = loop_->poll(Duration{});
    EXPECT_TRUE(ran);
    return ran.value_or(0);
  }
  static Instant now() { return std::chrono::steady_clock::now(); }

  OwnNetwork network_;
  std::unique_ptr<EventLoop> loop_;
  CountingSwitches* switches_ = nullptr;
  bool hears_ = true;  // whoever is told
  std::vector<std::string> told_;
  std::unique_ptr<SwitchFollower> follower_;
};

TEST_F(SwitchFollowerTest, IsNeverWokenWhereThereIsNothingToFollow) {
  EXPECT_EQ(follower_->next_step(), kNever);
  EXPECT_TRUE(network_.ip("link set nic up"));
  EXPECT_EQ(hear(), 0);
  follower_->answer(kPlan, now());
  follower_->answer(kEmptyPlan, now());
  EXPECT_EQ(follower_->next_step(), kNever);
  EXPECT_TRUE(network_.ip("link set nic down"));
  EXPECT_EQ(hear(), 0);
  EXPECT_EQ(switches_->times, 2);
}

TEST_F(SwitchFollowerTest, LooksSoonAfterNewsAndTellsWhatDiffers) {
  const Instant start = now() - SwitchFollower::kApart;
  EXPECT_THAT(follower_->answer(kPlan, start), HasSubstr("7 paravane-switch-report 1;switch lan"));
  EXPECT_EQ(follower_->next_step(), start + SwitchFollower::kSlow);
  EXPECT_TRUE(network_.ip("link set nic up"));
  EXPECT_EQ(hear(), 1);
  const Instant due = follower_->next_step();
  EXPECT_LE(due, now() + SwitchFollower::kSettle);
  follower_->step(due - kMoment);
  EXPECT_EQ(switches_->times, 1);
  follower_->step(due);
  EXPECT_EQ(switches_->times, 2);
  EXPECT_THAT(told_, IsEmpty());  // it is as it was

  switches_->report.switches[0].problems = {"nic: gone"};
  EXPECT_TRUE(network_.ip("link set nic down"));
  EXPECT_EQ(hear(), 1);
  follower_->step(follower_->next_step());
  EXPECT_THAT(told_, ElementsAre(HasSubstr("7 paravane-switch-report 1;switch lan none;problem "
                                           "nic: gone;")));
  // What was mended is told each time, though all is well again.
  switches_->report.mended = {{.vds = "lan", .interface = "nic", .text = "it was down"}};
  follower_->step(follower_->next_step());
  follower_->step(follower_->next_step());
  EXPECT_EQ(told_.size(), 3u);
  EXPECT_THAT(told_.back(), HasSubstr("mended lan nic it was down;"));
}

TEST_F(SwitchFollowerTest, AFlappingLinkCostsOneLookASecondAndIsNotEvenHeardMeanwhile) {
  const Instant start = now();
  follower_->answer(kPlan, start);
  int heard = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(network_.ip("link set nic up && ip link set nic down"));
    heard += hear();
  }
  EXPECT_EQ(heard, 1);
  EXPECT_GE(follower_->next_step(), start + SwitchFollower::kApart);
  const Instant look = follower_->next_step();
  follower_->step(look);
  EXPECT_EQ(switches_->times, 2);
  EXPECT_EQ(hear(), 0);  // all of it was seen by the look
  EXPECT_EQ(follower_->next_step(), look + SwitchFollower::kSlow);
  EXPECT_TRUE(network_.ip("link set nic up"));
  EXPECT_EQ(hear(), 1);
  EXPECT_GE(follower_->next_step(), look + SwitchFollower::kApart);
}

TEST_F(SwitchFollowerTest, OthersInterfacesMakeNoLook) {
  follower_->answer(kPlan, now());
  EXPECT_TRUE(network_.ip("link add another type bridge"));
  hear();
  EXPECT_GT(follower_->next_step(), now() + SwitchFollower::kApart);
}

TEST_F(SwitchFollowerTest, LooksFromTimeToTimeWithoutNews) {
  const Instant start = now();
  follower_->answer(kPlan, start);
  EXPECT_EQ(follower_->next_step(), start + SwitchFollower::kSlow);
  follower_->step(start + SwitchFollower::kSlow);
  EXPECT_EQ(switches_->times, 2);
  EXPECT_EQ(follower_->next_step(), start + 2 * SwitchFollower::kSlow);
}

TEST_F(SwitchFollowerTest, APlanThatIsRefusedLeavesTheLastOneFollowed) {
  const Instant start = now();
  follower_->answer(kPlan, start);
  EXPECT_THAT(follower_->answer("9 junk", start + kMoment), HasSubstr("refused"));
  EXPECT_EQ(follower_->next_step(), start + SwitchFollower::kSlow);
  switches_->report.problem = "x";
  follower_->step(start + SwitchFollower::kSlow);
  EXPECT_THAT(told_, ElementsAre(testing::StartsWith("7 ")));
}

TEST_F(SwitchFollowerTest, WhatCouldNotBeToldIsToldLater) {
  const Instant start = now();
  follower_->answer(kPlan, start);
  hears_ = false;
  switches_->report.problem = "x";
  switches_->report.mended = {{.vds = "lan", .interface = "nic", .text = "it was down"}};
  follower_->step(start + SwitchFollower::kSlow);
  hears_ = true;
  switches_->report.mended.clear();
  EXPECT_EQ(follower_->next_step(), start + SwitchFollower::kSlow + SwitchFollower::kApart);
  follower_->step(follower_->next_step());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], HasSubstr("failed other x;"));
  EXPECT_THAT(told_[0], HasSubstr("mended lan nic it was down;"));
}

TEST_F(SwitchFollowerTest, FollowsAnAddressWithoutAnySwitch) {
  auto switches = std::make_unique<CountingSwitches>();
  switches->filter = {.addresses = true};
  follow(std::move(switches), true);
  follower_->answer(kEmptyPlan, now());
  EXPECT_TRUE(network_.ip("address add 192.0.2.1/24 dev nic"));
  EXPECT_EQ(hear(), 1);
  EXPECT_LE(follower_->next_step(), now() + SwitchFollower::kApart);
}

// With switches that are made.
class FollowedSwitches : public SwitchFollowerTest {
 protected:
  static constexpr auto kPromise = std::chrono::seconds(2);

  void start() {
    follow(std::make_unique<SwitchBuilder>(
        SwitchBuilderConfig{.mark = "paravane:1:", .uplinks = {"nic"}, .tap_access = {}}));
    follower_->answer("1 paravane-switch-plan 1;switch lan 1500 nic 0 10;tap db1 1 lan 0;", now());
    settle();
  }
  // Until nothing is to be done any more but in a long while.
  void settle() {
    while (follower_->next_step() < now() + SwitchFollower::kSlow / 2 || hear() > 0) turn();
    told_.clear();
  }
  void turn() {
    loop_->poll(std::max(std::min(follower_->next_step(), now() + kPromise) - now(), Duration{}));
    follower_->step(now());
  }
  // Whether ip(8) shows it within the time that is promised, with nobody asking.
  void expect_soon(const std::string& words, const std::string& text) {
    const Instant end = now() + kPromise;
    while (now() < end && !network_.ip_shows(words, text)) turn();
    EXPECT_TRUE(network_.ip_shows(words, text)) << words << ": " << text;
    EXPECT_LT(now(), end);
  }
  void expect_told(const std::string& text) {
    const Instant end = now() + kPromise;
    const auto is_told = [&] {
      return std::ranges::any_of(
          told_, [&text](const std::string& news) { return news.find(text) != std::string::npos; });
    };
    while (now() < end && !is_told()) turn();
    EXPECT_TRUE(is_told()) << text << ": " << testing::PrintToString(told_);
  }
};

TEST_F(FollowedSwitches, AreMendedWithinTwoSecondsWhateverIsDoneToThem) {
  start();
  for (const auto& [broken, words, text, told] : {
           std::array{"link set nic nomaster", "link show dev nic", "master pvs-lan ",
                      "mended lan nic it was not on its bridge"},
           std::array{"link set pvs-lan down", "link show dev pvs-lan", ",UP",
                      "mended lan pvs-lan it was down"},
           std::array{"link set pv-db1 nomaster", "link show dev pv-db1", "master pvs-lan ",
                      "mended lan pv-db1 it was not on its bridge"},
           std::array{"link del pvs-lan", "link show dev pv-db1", "master pvs-lan ",
                      "mended lan pvs-lan it was missing"},
           std::array{"link del pv-db1", "link show dev pv-db1", "master pvs-lan ",
                      "mended lan pv-db1 it was missing"},
       }) {
    ASSERT_TRUE(network_.ip(broken)) << broken;
    expect_soon(words, text);
    expect_told(told);
    settle();
  }
}

TEST_F(FollowedSwitches, FollowAnUplinkThatGoesComesAndIsRenamed) {
  start();
  ASSERT_TRUE(network_.ip("link del nic"));
  expect_told("problem nic: no such NIC");
  settle();
  ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
  expect_soon("link show dev nic", "master pvs-lan ");
  expect_told("mended lan nic it was not on its bridge");
  settle();
  ASSERT_TRUE(network_.ip("link set nic down && ip link set nic name ens5"));
  expect_told("problem nic: it was renamed to ens5");
  expect_soon("link show dev ens5", ",UP");
  expect_soon("link show dev ens5", "master pvs-lan ");
}

TEST_F(FollowedSwitches, AreFollowedByAnotherKeeper) {
  start();
  ASSERT_TRUE(network_.ip("link set nic down && ip link set nic name ens5"));
  expect_soon("link show dev ens5", "master pvs-lan ");
  settle();
  const SwitchFollower::Saved saved = follower_->saved();
  EXPECT_EQ(saved.number, "1");
  follow(std::make_unique<SwitchBuilder>(
      SwitchBuilderConfig{.mark = "paravane:1:", .uplinks = {"nic"}, .tap_access = {}}));
  ASSERT_TRUE(network_.ip("link set ens5 nomaster"));
  follower_->resume(saved, now());
  EXPECT_TRUE(network_.ip_shows("link show dev ens5", "master pvs-lan ")) << "at once";
  EXPECT_THAT(told_, IsEmpty());
  ASSERT_TRUE(network_.ip("link set ens5 nomaster"));
  expect_soon("link show dev ens5", "master pvs-lan ");
  expect_told("1 paravane-switch-report 1;");
}

TEST_F(FollowedSwitches, TellWhatAnotherProgramHasTaken) {
  start();
  ASSERT_TRUE(network_.ip("link add br0 type bridge"));
  ASSERT_TRUE(network_.ip("link set nic master br0"));
  expect_told("problem nic: it belongs to br0");
  EXPECT_TRUE(network_.ip_shows("link show dev nic", "master br0 "));
}

// What an operator asks for is not mended.
TEST_F(FollowedSwitches, APlanThatIsAnotherMendsNothing) {
  start();
  for (const char* plan : {"2 paravane-switch-plan 1;switch lan 9000 nic 0 10;tap db1 1 lan 0;",
                           "3 paravane-switch-plan 1;switch lan 9000 - 0 10;tap db2 1 lan 0;",
                           "4 paravane-switch-plan 1;"}) {
    EXPECT_THAT(follower_->answer(plan, now()), testing::Not(HasSubstr("mended"))) << plan;
  }
  EXPECT_THAT(told_, IsEmpty());
}

// But what was changed by others meanwhile is.
TEST_F(FollowedSwitches, AChangeMendsWhatItIsNotAbout) {
  start();
  ASSERT_TRUE(network_.ip("link set pvs-lan down"));
  const std::string report = follower_->answer(
      "2 paravane-switch-plan 1;switch lan 1500 nic 0 10;tap db1 1 lan 0;tap db2 1 lan 0;", now());
  EXPECT_THAT(report, HasSubstr("mended lan pvs-lan it was down"));
  EXPECT_THAT(report, testing::Not(HasSubstr("mended lan pv-db2")));
}

}  // namespace
}  // namespace paravane::keeper
