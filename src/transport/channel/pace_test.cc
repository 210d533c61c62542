#include "transport/channel/pace.h"

#include <gtest/gtest.h>

namespace paravane::transport_channel {
namespace {

using std::chrono::seconds;

TEST(Steps, AFewBytesAreNoStep) {
  const Instant begin = Instant{} + seconds(1000);
  Steps steps(begin);
  steps.on_moved(200, begin + seconds(10));
  steps.on_moved(Steps::kBytes - 201, begin + seconds(20));
  EXPECT_EQ(steps.last(), begin);
  steps.on_moved(1, begin + seconds(29));  // with those before it is one
  EXPECT_EQ(steps.last(), begin + seconds(29));
  steps.on_moved(Steps::kBytes - 1, begin + seconds(40));
  EXPECT_EQ(steps.last(), begin + seconds(29));
}

TEST(Steps, WhatMovedBeforeCountsNotForWhatComesLater) {
  const Instant begin = Instant{} + seconds(1000);
  Steps steps(begin);
  steps.on_moved(Steps::kBytes - 1, begin);
  steps.begin(begin + seconds(5));
  steps.on_moved(1, begin + seconds(10));
  EXPECT_EQ(steps.last(), begin + seconds(5));
}

}  // namespace
}  // namespace paravane::transport_channel
