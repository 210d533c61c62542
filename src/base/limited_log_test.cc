#include "base/limited_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/log_capture.h"

namespace paravane {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

TEST(LimitedLog, SaysAFewLinesAndThenHowManyItKeptBack) {
  const LogCapture capture;
  LimitedLog log;
  Instant now{1000s};
  for (int i = 0; i < 500; ++i) log.warn(now, "host {}: too much", i);
  EXPECT_EQ(capture.lines(), 3u);
  now += 10s;
  log.error(now, "host {}: too much", "h2");
  EXPECT_THAT(capture.text(), EndsWith("host h2: too much (497 lines suppressed)\n"));
}

TEST(LimitedLog, EachLineHasItsLevel) {
  const LogCapture capture;
  LimitedLog log;
  log.info(Instant{1000s}, "one");
  log.warn(Instant{1000s}, "two");
  log.error(Instant{1000s}, "three");
  EXPECT_THAT(capture.text(), HasSubstr("[info] one"));
  EXPECT_THAT(capture.text(), HasSubstr("[warning] two"));
  EXPECT_THAT(capture.text(), HasSubstr("[error] three"));
}

}  // namespace
}  // namespace paravane
