#include "host/switch_teller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paravane::host {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SwitchTellerTest : public testing::Test {
 protected:
  static model::MendedLink mended(const std::string& interface, const std::string& vds = "lan") {
    return {.vds = vds, .interface = interface, .text = "it was down and was brought up"};
  }
  static privsep::SwitchReport report_with(const std::string& problem) {
    return {.switches = {{.name = "lan", .problems = {problem}}}};
  }

  std::vector<model::Event> events_;
  SwitchTeller teller_{[this](model::Event event) { events_.push_back(std::move(event)); }};
  Instant now_ = Instant{} + std::chrono::hours(1);
};

TEST_F(SwitchTellerTest, TellsWhatWasMendedOfEachSwitchInOneEvent) {
  teller_.on_mended(
      {mended("pvs-lan"), mended("pv-a"), mended("pv-b"), mended("pv-c"), mended("pvs-dmz", "dmz")},
      now_);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].type, "switch.mended");
  EXPECT_EQ(events_[1].fields.at("switch"), "lan");
  EXPECT_EQ(events_[1].fields.at("count"), "4");
  EXPECT_THAT(events_[1].text, HasSubstr("pvs-lan: it was down and was brought up"));
  EXPECT_THAT(events_[1].text, HasSubstr("and 1 more"));
  EXPECT_EQ(teller_.counts().at("lan"), 4u);
  EXPECT_EQ(teller_.counts().at("dmz"), 1u);
}

TEST_F(SwitchTellerTest, TellsProblemsThatComeAndThatAreOver) {
  const privsep::SwitchReport well{.switches = {{.name = "lan"}}};
  teller_.on_report(report_with("nic: gone"), well, now_);
  teller_.on_report(report_with("nic: gone"), report_with("nic: gone"), now_);
  teller_.on_report(well, report_with("nic: gone"), now_);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[0].type, "switch.problem");
  EXPECT_EQ(events_[0].severity, model::Severity::kWarning);
  EXPECT_EQ(events_[0].fields.at("problem"), "nic: gone");
  EXPECT_EQ(events_[1].type, "switch.problem_over");
  EXPECT_EQ(events_[1].fields.at("switch"), "lan");
}

TEST_F(SwitchTellerTest, TellsOfTapsVmkernelInterfacesAndAllAtOnce) {
  teller_.on_report({.taps = {{.vm = "db1", .adapter = 2, .problem = "pv-db1.2: x"}},
                     .vmknics = {{.name = "vmk1", .problem = "y"}},
                     .problem = "no right"},
                    {}, now_);
  ASSERT_EQ(events_.size(), 3u);
  for (const model::Event& event : events_) {
    EXPECT_EQ(event.type, "switch.problem");
    EXPECT_TRUE(event.fields.contains("problem"));
  }
}

TEST_F(SwitchTellerTest, TellsWhichUplinkOfATeamHasTakenOver) {
  const auto with = [](const std::string& active) -> privsep::SwitchReport {
    return {.switches = {{.name = "lan", .active = active}}};
  };
  teller_.on_report(with("eth1"), {}, now_);  // its first
  teller_.on_report(with("eth1"), with("eth1"), now_);
  teller_.on_report(with(""), with("eth1"), now_);  // none is there
  EXPECT_THAT(events_, IsEmpty());
  teller_.on_report(with("eth2"), with("eth1"), now_);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].type, "switch.failover");
  EXPECT_EQ(events_[0].severity, model::Severity::kWarning);
  EXPECT_EQ(events_[0].text, "switch lan: uplink eth2 carries the frames instead of eth1");
  EXPECT_EQ(events_[0].fields.at("switch"), "lan");
  EXPECT_EQ(events_[0].fields.at("from"), "eth1");
  EXPECT_EQ(events_[0].fields.at("to"), "eth2");
  EXPECT_EQ(teller_.failovers().at("lan"), 1u);
  for (int i = 0; i < 50; ++i) teller_.on_report(with("eth1"), with("eth2"), now_);
  EXPECT_EQ(events_.size(), SwitchTeller::kMostTold);
  EXPECT_EQ(teller_.failovers().at("lan"), 51u);
}

TEST_F(SwitchTellerTest, AnInterfaceThatFlapsIsToldWithinABound) {
  const privsep::SwitchReport well{.switches = {{.name = "lan"}}};
  for (int i = 0; i < 50; ++i) {
    now_ += std::chrono::seconds(1);
    teller_.on_mended({mended("nic")}, now_);
    teller_.on_report(report_with("nic: gone"), well, now_);
    teller_.on_report(well, report_with("nic: gone"), now_);
  }
  EXPECT_LE(events_.size(), 2 * SwitchTeller::kMostTold);
  EXPECT_EQ(teller_.counts().at("lan"), 50u);
  events_.clear();
  now_ += SwitchTeller::kQuarrelTime;
  teller_.on_mended({mended("nic")}, now_);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].fields.at("kept_back"), "40");
}

TEST_F(SwitchTellerTest, NamesAnInterfaceThatIsMendedAgainAndAgain) {
  for (std::size_t i = 1; i < SwitchTeller::kQuarrel; ++i) {
    teller_.on_mended({mended("nic"), mended("nic")}, now_ += std::chrono::seconds(1));
  }
  EXPECT_THAT(teller_.quarrels("lan", now_), IsEmpty());
  teller_.on_mended({mended("nic")}, now_ += std::chrono::seconds(1));
  EXPECT_THAT(teller_.quarrels("lan", now_),
              testing::ElementsAre(HasSubstr("nic: repaired 5 times within a minute")));
  EXPECT_EQ(events_.back().type, "switch.problem");
  EXPECT_THAT(teller_.quarrels("dmz", now_), IsEmpty());
  EXPECT_THAT(teller_.quarrels("lan", now_ + SwitchTeller::kQuarrelTime), IsEmpty());
}

}  // namespace
}  // namespace paravane::host
