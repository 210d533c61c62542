#include "transport/impaired/impairment.h"

#include <gtest/gtest.h>

namespace paravane::transport_impaired {
namespace {

unsigned lost_of(const Impairment& impairment, unsigned messages) {
  unsigned lost = 0;
  for (unsigned i = 1; i <= messages; ++i)
    lost += fate_of(impairment, {.message = i}).lost ? 1U : 0U;
  return lost;
}

TEST(Impairment, HitsNoneOrAllAtTheEnds) {
  EXPECT_EQ(lost_of({.loss = 0}, 10'000), 0u);
  EXPECT_EQ(lost_of({.loss = kPartsPerMillion}, 10'000), 10'000u);
}

TEST(Impairment, HitsAboutItsShare) {
  EXPECT_NEAR(lost_of({.loss = 1'000, .seed = 7}, 1'000'000), 1'000, 150);
  EXPECT_NEAR(lost_of({.loss = 500'000, .seed = 7}, 1'000'000), 500'000, 5'000);
}

TEST(Impairment, IsTheSameForTheSameSeedAndNumber) {
  const Impairment one{.loss = 100'000, .reorder = 100'000, .rnr = 100'000, .seed = 1};
  Impairment other = one;
  other.seed = 2;
  unsigned differ = 0;
  for (unsigned i = 1; i <= 1'000; ++i) {
    EXPECT_EQ(fate_of(one, {.message = i}).lost, fate_of(one, {.message = i}).lost);
    differ += fate_of(one, {.message = i}).lost != fate_of(other, {.message = i}).lost ? 1U : 0U;
  }
  EXPECT_GT(differ, 100u);
}

// A share that is asked for beside another does not move what that one hits.
TEST(Impairment, SharesAreIndependent) {
  const Impairment loss{.loss = 100'000, .seed = 1};
  const Impairment more{.loss = 100'000, .reorder = 500'000, .rnr = 500'000, .seed = 1};
  unsigned both = 0;
  for (unsigned i = 1; i <= 10'000; ++i) {
    EXPECT_EQ(fate_of(loss, {.message = i}).lost, fate_of(more, {.message = i}).lost);
    both += fate_of(more, {.message = i}).lost && fate_of(more, {.message = i}).overtaken ? 1U : 0U;
  }
  EXPECT_NEAR(both, 500, 120);
}

TEST(Impairment, HoldsWhatIsToBeOvertakenLonger) {
  const Impairment slow{.delay = std::chrono::milliseconds(2)};
  EXPECT_EQ(hold_of(slow, {}), slow.delay);
  EXPECT_EQ(hold_of(slow, {.overtaken = true}), 2 * slow.delay);
  EXPECT_EQ(hold_of({}, {}), Duration::zero());
  EXPECT_EQ(hold_of({}, {.overtaken = true}), kLeastReorder);
}

}  // namespace
}  // namespace paravane::transport_impaired
