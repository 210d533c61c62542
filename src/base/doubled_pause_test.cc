#include "base/doubled_pause.h"

#include <gtest/gtest.h>

#include <chrono>

namespace paravane {
namespace {

using namespace std::chrono_literals;

TEST(DoubledPause, GrowsFromTheFirstToTheLongest) {
  Duration pause{};
  for (const Duration expected : {1s, 2s, 4s, 5s, 5s}) {
    pause = doubled_pause(pause, 1s, 5s);
    EXPECT_EQ(pause, expected);
  }
}

}  // namespace
}  // namespace paravane
