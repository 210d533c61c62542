#include "base/news_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/log_capture.h"

namespace paravane {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(NewsLog, SaysALineOnceUntilItChanges) {
  const LogCapture capture;
  NewsLog log;
  Instant now{1000s};
  for (int i = 0; i < 100; ++i) log.warn(now += 5s, "the door is shut: {}", "no address");
  EXPECT_EQ(capture.lines(), 1u);
  log.error(now += 5s, "the door is shut: {}", "no right");
  EXPECT_EQ(capture.lines(), 2u);
  EXPECT_THAT(capture.text(), HasSubstr("[error] the door is shut: no right"));
  log.warn(now += 5s, "the door is shut: {}", "no address");
  EXPECT_EQ(capture.lines(), 3u);
}

TEST(NewsLog, SaysItAgainAfterAnHourAndAfterAllWasWell) {
  const LogCapture capture;
  NewsLog log;
  Instant now{1000s};
  log.warn(now, "shut");
  log.warn(now += 59min, "shut");
  EXPECT_EQ(capture.lines(), 1u);
  log.warn(now += 1min, "shut");
  EXPECT_EQ(capture.lines(), 2u);
  log.clear();
  log.warn(now += 5s, "shut");
  EXPECT_EQ(capture.lines(), 3u);
}

TEST(NewsLog, WhatKeepsChangingIsLimited) {
  const LogCapture capture;
  NewsLog log;
  const Instant now{1000s};
  for (int i = 0; i < 100; ++i) log.warn(now, "attempt {}", i);
  EXPECT_EQ(capture.lines(), 3u);
}

}  // namespace
}  // namespace paravane
