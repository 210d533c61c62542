#include "ethernet/link_report.h"

#include <gtest/gtest.h>

namespace paravane::ethernet {
namespace {

constexpr LinkAct kTurn{"turn it", "it was wrong and was turned"};

TEST(LinkReport, TellsWhatWasDoneAndWhatCouldNotBe) {
  LinkReport report;
  EXPECT_TRUE(report.done("a", kTurn, {}));
  EXPECT_FALSE(report.done("b", kTurn, fail(Errc::kIo, "no leave")));
  const auto changes = report.take_changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].link, "a");
  EXPECT_EQ(changes[0].text, "it was wrong and was turned");
  const auto problems = report.take_problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].link, "b");
  EXPECT_EQ(problems[0].text, "cannot turn it: no leave");
  EXPECT_FALSE(problems[0].foreign);
}

TEST(LinkReport, ChangesOfALinkStandInOneText) {
  LinkReport report;
  report.note("a", "first");
  report.note("b", "other");
  report.note("a", "second");
  const auto changes = report.take_changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].text, "first; second");
  EXPECT_EQ(changes[1].text, "other");
}

TEST(LinkReport, OfANewLinkOnlyThatItWasMadeIsTold) {
  LinkReport report;
  report.note("a", "made");
  report.set_new("a");
  report.note("a", "second");
  const auto changes = report.take_changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].text, "made");
}

}  // namespace
}  // namespace paravane::ethernet
