#include "subnet/notices.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
using wire::infiniband::Notice;

constexpr Instant kToldAt{2000s};

Notice notice_with(std::uint16_t trap, std::uint8_t detail = 0) {
  Notice notice;
  notice.trap.set(trap);
  notice.details[0] = detail;
  return notice;
}

TEST(NoticesTest, ANoticeIsDueAtOnceAndThenAfterLongerAndLongerPauses) {
  Notices notices;
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ(notices.next_deadline(), kNever);
  notices.tell(notice_with(128), kToldAt);
  Instant at = kToldAt;
  Duration pause = Notices::kFirstPause;
  std::set<std::uint64_t> transactions;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(notices.next_deadline(), at);
    EXPECT_TRUE(notices.take_due(at - 1ns).empty());
    const auto due = notices.take_due(at);
    ASSERT_EQ(due.size(), 1u);
    EXPECT_EQ(due[0].notice.trap.get(), 128);
    transactions.insert(due[0].transaction);
    EXPECT_TRUE(notices.take_due(at).empty());
    at += pause;
    pause = std::min(pause * 2, Notices::kLongestPause);
  }
  EXPECT_EQ(pause, Notices::kLongestPause);
  EXPECT_EQ(transactions.size(), 1u);  // one trap, sent again
}

TEST(NoticesTest, ARepressedNoticeIsNotToldAgain) {
  Notices notices;
  notices.tell(notice_with(128), kToldAt);
  notices.tell(notice_with(144), kToldAt);
  const auto due = notices.take_due(kToldAt);
  ASSERT_EQ(due.size(), 2u);
  notices.repress(due[0].transaction + 100);
  EXPECT_EQ(notices.take_due(kToldAt + 1s).size(), 2u);
  notices.repress(due[0].transaction);
  const auto left = notices.take_due(kToldAt + 60s);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].notice.trap.get(), 144);
  notices.repress(due[1].transaction);
  EXPECT_TRUE(notices.empty());
}

TEST(NoticesTest, NewsReplaceOldNewsOfTheSame) {
  Notices notices;
  notices.tell(notice_with(128, 1), kToldAt);
  const auto first = notices.take_due(kToldAt);
  notices.tell(notice_with(128, 1), kToldAt + 1s);
  notices.tell(notice_with(128, 2), kToldAt + 1s);
  const auto second = notices.take_due(kToldAt + 1s);
  ASSERT_EQ(second.size(), 2u);
  // What represses the older does not repress the newer.
  EXPECT_NE(second[0].transaction, first[0].transaction);
  notices.repress(first[0].transaction);
  EXPECT_EQ(notices.take_due(kToldAt + 60s).size(), 2u);
}

// A stranger can make them as fast as it sends packets.
TEST(NoticesTest, WhatIsToldOverAndOverIsSentNoOfterThanItsFirstPause) {
  Notices notices;
  unsigned sent = 0;
  for (Instant now = kToldAt; now < kToldAt + 5s; now += 1ms) {
    notices.tell(notice_with(257), now);
    sent += static_cast<unsigned>(notices.take_due(now).size());
  }
  EXPECT_GE(sent, 2u);
  EXPECT_LE(sent, 10u);
}

TEST(NoticesTest, AreBoundedAndForgetTheOldest) {
  Notices notices;
  for (std::uint8_t i = 0; i < 200; ++i) notices.tell(notice_with(257, i), kToldAt);
  const auto due = notices.take_due(kToldAt);
  ASSERT_EQ(due.size(), Notices::kMost);
  EXPECT_EQ(due.back().notice.details[0], 199);
  EXPECT_EQ(due.front().notice.details[0], 200 - Notices::kMost);
}

Notice security_notice(std::uint16_t trap, std::uint8_t detail) {
  Notice notice = notice_of(trap, wire::infiniband::NoticeType::kSecurity,
                            wire::infiniband::NodeType::kChannelAdapter);
  notice.details[0] = detail;
  return notice;
}

// Packets of a stranger differ as it likes.
TEST(NoticesTest, ThoseOfSecurityHaveOneRate) {
  Notices notices;
  unsigned sent = 0;
  std::uint8_t detail = 0;
  for (Instant now = kToldAt; now < kToldAt + 1s; now += 1ms) {
    notices.tell(security_notice(detail % 2 == 0 ? 257 : 258, detail), now);
    ++detail;
    sent += static_cast<unsigned>(notices.take_due(now).size());
  }
  EXPECT_EQ(sent, 1s / Notices::kSecurityPause);
  EXPECT_EQ(notices.next_deadline(), kToldAt + 1s);
}

TEST(NoticesTest, ThoseOfSecurityMakeRoomForOthers) {
  Notices notices;
  notices.tell(notice_with(128), kToldAt);
  for (std::uint8_t i = 0; i < 200; ++i) notices.tell(security_notice(257, i), kToldAt);
  const auto due = notices.take_due(kToldAt);
  ASSERT_FALSE(due.empty());
  EXPECT_EQ(due[0].notice.trap.get(), 128);
}

TEST(NoticesTest, ANewManagerHearsWhatWaitsAtOnce) {
  Notices notices;
  notices.tell(notice_with(128), kToldAt);
  for (Instant now = kToldAt; now < kToldAt + 100s; now += 1s) (void)notices.take_due(now);
  notices.tell_again(kToldAt + 100s);
  EXPECT_EQ(notices.next_deadline(), kToldAt + 100s);
  EXPECT_EQ(notices.take_due(kToldAt + 100s).size(), 1u);
  EXPECT_EQ(notices.next_deadline(), kToldAt + 100s + Notices::kFirstPause);
}

}  // namespace
}  // namespace paravane::subnet
