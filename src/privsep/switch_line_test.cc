// Plans and reports between the two processes.

#include "privsep/switch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace paravane::privsep {
namespace {

using testing::HasSubstr;

class RecordingMaker final : public SwitchMaker {
 public:
  SwitchReport make(const SwitchPlan& plan) override {
    plans.push_back(plan);
    return {.problem = "as told"};
  }
  std::vector<SwitchPlan> plans;
};

SwitchPlan one_switch() {
  return {.switches = {{.name = "lan", .mtu = 1500, .uplink = "", .vlans = {10}}}};
}

class SwitchLineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = ProcessLink::make();
    ASSERT_TRUE(ends);
    engine_.emplace(std::move(ends->first));
    keeper_.emplace(std::move(ends->second));
  }
  // The keeper, for one plan. What it says before the report.
  std::jthread keep(std::vector<Note> before) {
    return std::jthread([this, before = std::move(before)] {
      std::optional<Note> plan;
      while (!plan) {
        const auto note = keeper_->receive();
        if (!note) return;
        plan = *note;
      }
      for (const Note& note : before) keeper_->send(note);
      keeper_->send({.kind = Note::Kind::kSwitchReport, .text = answer_plan(plan->text, maker_)});
    });
  }

  std::optional<ProcessLink> engine_;
  std::optional<ProcessLink> keeper_;
  RecordingMaker maker_;
  std::vector<std::string> others_;
  std::optional<SwitchLine> line_;
  SwitchLine& line() {
    if (!line_) {
      line_.emplace(*engine_, [this](const ProcessLink::NoteWithSocket& received) {
        others_.push_back(received.note.text);
      });
    }
    return *line_;
  }
};

TEST_F(SwitchLineTest, CarriesAPlanAndItsReport) {
  const std::jthread keeper = keep({});
  EXPECT_EQ(line().make(one_switch()).problem, "as told");
  EXPECT_THAT(maker_.plans, testing::ElementsAre(one_switch()));
}

TEST_F(SwitchLineTest, HandsOnWhatElseTheKeeperSays) {
  const std::jthread keeper = keep({{.kind = Note::Kind::kLogLevel, .text = "debug"}});
  EXPECT_EQ(line().make(one_switch()).problem, "as told");
  EXPECT_THAT(others_, testing::ElementsAre("debug"));
}

TEST_F(SwitchLineTest, TakesNoReportOfAnotherPlan) {
  const std::jthread keeper =
      keep({{.kind = Note::Kind::kSwitchReport, .text = "77 paravane-switch-report 1;failed old;"},
            {.kind = Note::Kind::kSwitchReport, .text = "junk"}});
  EXPECT_EQ(line().make(one_switch()).problem, "as told");
}

TEST_F(SwitchLineTest, SaysThatTheKeeperIsGone) {
  keeper_->close();
  EXPECT_NE(line().make(one_switch()).problem, "");
}

TEST_F(SwitchLineTest, CarriesALongPlanWhole) {
  SwitchPlan plan = one_switch();
  for (int i = 0; i < 1500; ++i) {
    plan.taps.push_back({.vm = "a-machine-with-a-long-name-" + std::to_string(i),
                         .adapter = 1,
                         .vds = "lan",
                         .vlan = 10});
  }
  const std::jthread keeper = keep({});
  EXPECT_EQ(line().make(plan).problem, "as told");
  EXPECT_THAT(maker_.plans, testing::ElementsAre(plan));
}

TEST_F(SwitchLineTest, ReadsNewsOfTheLastPlanAlone) {
  const std::jthread keeper = keep({});
  line().make(one_switch());
  const std::string report =
      "paravane-switch-report 1;switch lan plain;problem x;mended lan pvs-lan it was down;";
  const std::vector<model::MendedLink> mended = {
      {.vds = "lan", .interface = "pvs-lan", .text = "it was down"}};
  const auto news = line().read_news("1 " + report);
  ASSERT_TRUE(news) << news.error().message;
  EXPECT_EQ(news->mended, mended);
  ASSERT_TRUE(news->report);
  EXPECT_THAT(news->report->switches[0].problems, testing::ElementsAre("x"));
  EXPECT_TRUE(news->report->mended.empty());
  // A plan has gone out since: how things were is of no use, what was done is.
  const auto late = line().read_news("0 " + report);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->mended, mended);
  EXPECT_FALSE(late->report);
  EXPECT_FALSE(line().read_news("1 junk"));
}

TEST_F(SwitchLineTest, APlanThatBreaksARuleIsNotMade) {
  for (const char* text : {"", "1", "1 ", "1 junk", "junk", "1 paravane-switch-plan 1;switch;",
                           "99999999999999999999999999999 paravane-switch-plan 1;"}) {
    EXPECT_THAT(answer_plan(text, maker_), HasSubstr("refused")) << text;
  }
  EXPECT_TRUE(maker_.plans.empty());
}

}  // namespace
}  // namespace paravane::privsep
