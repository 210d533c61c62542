// A device whose state is refused half way, which ends with what it has loaded so far.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "test_rig.h"
#include "testing/edited_state.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {
namespace {

class RefusedState : public testing::Test {
 protected:
  RefusedState() {
    FakeGuest& guest = rig_.guest(0);
    guest.create_srq({.pd = &a_.pd()});
    guest.register_memory(b_.pd(), 3 * kPage);
    EXPECT_TRUE(connect(a_, b_));
    EXPECT_TRUE(b_.receive(1) && a_.send(2, 0, 100));
    rig_.settle();
    state_ = rig_.saved(0);
  }
  void expect_whole_state_is_taken() {
    ASSERT_TRUE(rig_.replace(0, state_));
    EXPECT_EQ(rig_.saved(0), state_);
  }

  TestRig rig_;
  FakeEnd a_{rig_.guest(0)};
  FakeEnd b_{rig_.guest(0)};
  std::vector<std::byte> state_;
};

// Those of the device are loaded before those of the engine.
TEST_F(RefusedState, WithADomainThatItsEngineLacks) {
  constexpr std::array<std::uint16_t, 3> kDomainNumber{11, 3, 1};
  const Status replaced = rig_.replace(0, edited(state_, kDomainNumber, to_number(9)));
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().message,
            "the state is refused: 11.4.8.3: the protection domain has no such region");
  expect_whole_state_is_taken();
}

TEST_F(RefusedState, WithAnyByteChanged) {
  std::mt19937 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> changed = state_;
    changed[random() % changed.size()] ^= static_cast<std::byte>(1 + random() % 255);
    if (!rig_.replace(0, changed)) ++refused;
  }
  EXPECT_GT(refused, 25u);
  expect_whole_state_is_taken();
}

}  // namespace
}  // namespace paravane::fake
