#include "umad_library/unanswered.h"

#include <gtest/gtest.h>

#include <chrono>

#include "umad_library/umad_test_mads.h"

namespace paravane::umad_library {
namespace {

using std::chrono::milliseconds;

umad::MadPart limited(std::uint32_t agent, std::uint32_t timeout_ms, std::uint32_t retries) {
  umad::MadPart head;
  head.agent = Le32(agent);
  head.timeout_ms = Le32(timeout_ms);
  head.retries = Le32(retries);
  return head;
}

TEST(UnansweredTest, WhatIsLostIsDueWhenAllItsTriesAreOver) {
  const Instant now{};
  Unanswered unanswered;
  unanswered.add(limited(0, 100, 2), test_mad(4, 1, 1), now);
  unanswered.add(limited(0, 200, 0), test_mad(4, 1, 2), now);
  EXPECT_EQ(unanswered.next_due(), kNever) << "the daemon answers for them";
  unanswered.lose_all();
  EXPECT_EQ(unanswered.next_due(), now + milliseconds(200));
  EXPECT_EQ(unanswered.due(now + milliseconds(199)), nullptr);
  EXPECT_NE(unanswered.due(now + milliseconds(200)), nullptr);
  unanswered.reported();
  EXPECT_EQ(unanswered.next_due(), now + milliseconds(300));
}

TEST(UnansweredTest, AnswersAndReportsEndTheWait) {
  Unanswered unanswered;
  for (std::uint8_t number = 1; number <= 5; ++number) {
    unanswered.add(limited(0, 100, 0), test_mad(4, 1, number), {});
  }
  unanswered.see(limited(0, 0, 0), test_mad(4, 0x81, 1));
  EXPECT_EQ(unanswered.size(), 4U);
  unanswered.see(limited(0, 0, 0), test_mad(4, 1, 2));
  unanswered.see(limited(1, 0, 0), test_mad(4, 0x81, 2));
  EXPECT_EQ(unanswered.size(), 4U) << "another's request, and another agent's answer";
  auto report = limited(0, 0, 0);
  report.status = Le32(110);
  unanswered.see(report, test_mad(4, 1, 2, 24));
  EXPECT_EQ(unanswered.size(), 3U);
  unanswered.take_back(0, test_mad(4, 1, 3));
  unanswered.lose(0, test_mad(4, 1, 4));
  EXPECT_EQ(unanswered.size(), 2U);
  unanswered.see(limited(0, 0, 0), test_mad(4, 0x81, 4));
  EXPECT_EQ(unanswered.size(), 1U) << "an answer that came after all";
  unanswered.forget_agent(0);
  EXPECT_EQ(unanswered.size(), 0U);
}

TEST(UnansweredTest, DoesNotGrowWithMadsThatTheDaemonForgot) {
  Unanswered unanswered;
  Instant now{};
  auto mad = test_mad(4, 1, 1);
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    std::memcpy(&mad[12], &i, sizeof i);
    now += std::chrono::seconds(1);
    unanswered.add(limited(0, 100, 0), mad, now);
  }
  EXPECT_LE(unanswered.size(), 4096U);
}

TEST(UnansweredTest, LimitsBeyondMeasureAreADay) {
  Unanswered unanswered;
  unanswered.add(limited(0, 0xFFFFFFFF, 0xFFFFFFFF), test_mad(4, 1, 1), {});
  unanswered.lose_all();
  EXPECT_EQ(unanswered.next_due(), Instant{} + std::chrono::hours(24));
}

}  // namespace
}  // namespace paravane::umad_library
