// No turn of the worker is long, whatever one guest does: what a turn touches is counted
// by the device and bounded in every build. How long it takes depends on the machine and
// the build, so that is only printed (scripts/bench --only turns).

#include <gtest/gtest.h>

#include <cstdio>

#include "device/turn_effort.h"
#include "testing/hostile_turns.h"
#include "testing/test_memory.h"

namespace paravane::fake {
namespace {

// A sanitizer's build makes the objects ten times slower; the bound is the same.
constexpr std::uint32_t kScale = kAddressSanitizer || kThreadSanitizer ? 8 : 1;

class TurnLength : public ::testing::TestWithParam<HostileTurns> {};

TEST_P(TurnLength, IsBounded) {
  const LongestTurn longest = GetParam().run(kScale);
  std::printf("    %s: %llu touched, %.1f ms of processor time\n", GetParam().name,
              static_cast<unsigned long long>(longest.touched), longest.processor_seconds * 1e3);
  EXPECT_LE(longest.touched, device::TurnEffort::kMost);
  // It was busy at all.
  EXPECT_GE(longest.touched, device::TurnEffort::kForRequests / 8);
}

INSTANTIATE_TEST_SUITE_P(Hostile, TurnLength,
                         ::testing::ValuesIn(hostile_turns().begin(), hostile_turns().end()),
                         [](const auto& test) { return std::to_string(test.index); });

}  // namespace
}  // namespace paravane::fake
