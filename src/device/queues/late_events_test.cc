// Edges of the late events' windows. Their rules as programs see them are tested
// with whole runs (tests/conformance/doorbell_watch_test.cc).

#include "device/queues/late_events.h"

#include <gtest/gtest.h>

#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

RigOptions one_vm() {
  RigOptions options;
  options.vms = 1;
  return options;
}

class LateEventsTest : public ::testing::Test {
 protected:
  std::uint64_t new_events() {
    const std::uint64_t before = cq_.events();
    guest_.handle_interrupts();
    return cq_.events() - before;
  }
  std::uint64_t late_events() { return rig_.device().counters().late_events.value(); }

  DeviceRig rig_{one_vm()};
  FakeGuest& guest_ = rig_.guest();
  FakeContext& context_ = guest_.open_context();
  FakePd& pd_ = guest_.create_pd(context_);
  FakeCq& cq_ = guest_.create_cq(context_, 64);
  FlushSource source_{guest_, pd_, cq_, 64};
};

TEST_F(LateEventsTest, AnEventComesWhenTheWindowEndsAndNotBefore) {
  rig_.settle();
  ASSERT_TRUE(source_.produce());
  rig_.run_until_idle();
  while (cq_.unconsumed() == 0) rig_.advance(microseconds(1));
  rig_.advance(microseconds(49));
  EXPECT_EQ(new_events(), 0u);
  rig_.advance(microseconds(60));  // the look at the page may open a second window
  EXPECT_EQ(new_events(), 1u);
  EXPECT_EQ(late_events(), 1u);
}

TEST_F(LateEventsTest, AnArmSeenAtTheEndOfAWindowOpensAnother) {
  rig_.settle();
  ASSERT_TRUE(source_.produce());
  while (cq_.unconsumed() == 0) rig_.advance(microseconds(1));
  rig_.advance(microseconds(48));
  cq_.arm();
  rig_.advance(microseconds(4));  // the window is over, the arm has been seen
  EXPECT_EQ(rig_.device().counters().arms.value(), 1u);
  EXPECT_EQ(new_events(), 0u) << "the program is about to look";
  pvrdma_cqe completion{};
  ASSERT_TRUE(cq_.take(completion));
  rig_.advance(milliseconds(5));
  EXPECT_EQ(new_events(), 0u);
}

TEST_F(LateEventsTest, ANewPositionIsToldSoonAlsoAfterOneThatWasLeftAlone) {
  rig_.settle();
  ASSERT_TRUE(source_.produce());
  rig_.advance(milliseconds(20));  // told, and looked at rarely since
  EXPECT_EQ(new_events(), 1u);
  pvrdma_cqe completion{};
  ASSERT_TRUE(cq_.take(completion));
  ASSERT_TRUE(source_.produce());
  while (cq_.unconsumed() == 0) rig_.advance(microseconds(1));
  rig_.advance(microseconds(110));
  EXPECT_EQ(new_events(), 1u) << "not only after a millisecond";
}

// Two queues on one channel, armed one after the other before we look.
TEST_F(LateEventsTest, AnArmLostToAnotherQueuesIsPresumedAndFiresAtOnce) {
  FakeCq& other = guest_.create_cq(context_, 64);
  pvrdma_cqe completion{};
  for (int round = 0; round < 20; ++round) {
    cq_.arm();
    other.arm();  // over it, in the same word
    rig_.advance(milliseconds(2));
    ASSERT_TRUE(source_.produce());
    while (cq_.unconsumed() == 0) rig_.advance(microseconds(1));
    rig_.advance(microseconds(2));
    ASSERT_EQ(new_events(), 1u) << "round " << round;
    ASSERT_TRUE(cq_.take(completion));
    rig_.advance(milliseconds(2));
    ASSERT_EQ(new_events(), 0u) << "one for each completion, round " << round;
  }
  EXPECT_EQ(late_events(), 20u);
}

TEST_F(LateEventsTest, AProgramThatPollsIsNotPresumedToHaveArmed) {
  FakeCq& other = guest_.create_cq(context_, 64);
  pvrdma_cqe completion{};
  cq_.arm();
  rig_.settle();
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(source_.produce());
    while (cq_.unconsumed() == 0) rig_.advance(microseconds(1));
    new_events();
    ASSERT_TRUE(cq_.take(completion));
    EXPECT_FALSE(cq_.poll(completion));
    rig_.settle();
    other.arm();
    rig_.settle();
  }
  EXPECT_EQ(late_events(), 0u);
}

// Arms come faster than windows end: a guest can store them while we look at its
// queue pairs, and a VMM send them as messages.
TEST_F(LateEventsTest, ArmsByTheThousandLeaveNothingBehind) {
  rig_.settle();
  ASSERT_TRUE(source_.produce());
  while (cq_.unconsumed() == 0) rig_.advance(microseconds(1));
  for (int i = 0; i < 400'000; ++i) {
    rig_.machine().write_doorbell(context_.uar.index() * kPage + 4, kRingArm | cq_.handle);
  }
  const std::uint64_t turns = rig_.turns();
  rig_.advance(milliseconds(1));
  EXPECT_LE(rig_.turns() - turns, 1000u) << "turns that only look at old arms";
}

TEST_F(LateEventsTest, ADestroyedQueueIsForgotten) {
  rig_.settle();
  ASSERT_TRUE(source_.produce());
  rig_.run_until_idle();
  guest_.kill_process(context_);
  rig_.advance(milliseconds(5));
  EXPECT_EQ(late_events(), 0u);
  EXPECT_EQ(rig_.device().next_look(), kNever);
}

}  // namespace
}  // namespace paravane::fake
