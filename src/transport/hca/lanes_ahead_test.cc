// Messages behind a long one: their memory is lent while the earlier one is still on its way, and a
// program sees them in their turn.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "testing/lanes_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;
using verbs::WcStatus;

constexpr std::uint64_t kAheadBytes = 64 << 10;  // each message is one
constexpr unsigned kPlaces = 16;                 // messages

class LanesAheadTest : public testing::Test {
 protected:
  LanesAheadTest() {
    LanesRig::connect(rig_.a(), *a_, rig_.b(), *b_);
    rig_.a().fill(from_, 3);
    write(0);  // memory is registered when the first long message wants that
    rig_.run();
    a_->sends.clear();
    before_ = rig_.lane_bytes();
    rig_.trunk(0).hold_lanes(true);
  }
  // Message N of the buffer, to place N of the peer's.
  verbs::Sge source(unsigned n) const { return from_.sge(n * kAheadBytes, kAheadBytes); }
  void write(unsigned n) {
    a_->post(write_request(++id_, {source(n)}, to_.start + (n * kAheadBytes), to_.key));
  }
  void send(unsigned n) { a_->post(send_request(++id_, {source(n)})); }
  void receive(unsigned n) {
    b_->post(receive_request(100 + n, {to_.sge(n * kAheadBytes, kAheadBytes)}));
  }
  void let_go() {
    rig_.trunk(0).hold_lanes(false);
    ASSERT_TRUE(rig_.run());
  }
  bool has_arrived(unsigned n) {
    return rig_.b().read(to_, n * kAheadBytes, kAheadBytes) ==
           rig_.a().read(from_, n * kAheadBytes, kAheadBytes);
  }
  void expect_arrived(unsigned messages) {
    EXPECT_EQ(a_->sends.size(), messages);
    EXPECT_THAT(a_->sends.statuses(), Each(WcStatus::kSuccess));
    for (unsigned n = 0; n < messages; ++n) EXPECT_TRUE(has_arrived(n)) << n;
    EXPECT_EQ(a_->qp->stats().retries, 0u);
    EXPECT_TRUE(rig_.a().memory().loans().empty());
    EXPECT_TRUE(rig_.b().memory().loans().empty());
  }

  LanesRig rig_;
  std::unique_ptr<EngineQp> a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> b_ = rig_.b().queue_pair();
  const EngineBuffer from_ = rig_.a().buffer(kPlaces * kAheadBytes);
  const EngineBuffer to_ = rig_.b().buffer(kPlaces * kAheadBytes);
  std::uint64_t id_ = 0;
  std::uint64_t before_ = 0;
};

TEST_F(LanesAheadTest, WritesAreLentBeforeTheirTurn) {
  for (unsigned n = 0; n < 6; ++n) write(n);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 6u);
  EXPECT_EQ(rig_.trunk(0).lane_sends(), 6u);
  EXPECT_EQ(a_->sends.size(), 0u);
  let_go();
  expect_arrived(6);
  EXPECT_EQ(rig_.lane_bytes() - before_, 6 * kAheadBytes);
}

TEST_F(LanesAheadTest, SendsGoToTheReceivesOfTheirTurn) {
  for (unsigned n = 0; n < 5; ++n) receive(n);
  for (unsigned n = 0; n < 5; ++n) send(n);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 5u);
  EXPECT_EQ(b_->receives.size(), 0u);
  let_go();
  expect_arrived(5);
  EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(100, 101, 102, 103, 104));
}

// A write takes none, and the sends after it take theirs in order.
TEST_F(LanesAheadTest, WritesAmongSendsTakeNoReceive) {
  for (unsigned n = 0; n < 3; ++n) receive(2 * n);
  send(0);
  write(1);
  send(2);
  write(3);
  send(4);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 5u);
  let_go();
  expect_arrived(5);
  EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(100, 102, 104));
}

TEST_F(LanesAheadTest, ASendWithoutAReceiveWaitsForItsTurn) {
  receive(0);
  receive(1);
  for (unsigned n = 0; n < 4; ++n) send(n);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 2u);
  rig_.trunk(0).hold_lanes(false);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(100, 101));
  receive(2);
  receive(3);
  rig_.advance(milliseconds(100));
  EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_TRUE(has_arrived(3));
}

// Nor is a long message whose end is not within the region.
TEST_F(LanesAheadTest, AWriteThatWillBeRefusedIsNotLent) {
  write(0);
  a_->post(write_request(++id_, {from_.sge(0, 2 * kAheadBytes)},
                         to_.start + ((kPlaces - 1) * kAheadBytes), to_.key));
  write(1);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 1u);
  let_go();
  EXPECT_THAT(a_->sends.statuses(),
              ElementsAre(WcStatus::kSuccess, WcStatus::kRemoteAccessError, WcStatus::kFlushed));
  EXPECT_TRUE(has_arrived(0));
  EXPECT_THAT(rig_.b().read(to_, kAheadBytes, (kPlaces - 1) * kAheadBytes), Each(std::byte{0}));
}

// Its memory lies in more places than an adapter takes, so it leaves the lane; those behind it are
// there before.
TEST_F(LanesAheadTest, OneThatLeavesTheLaneKeepsItsTurn) {
  constexpr std::uint64_t kPart = 4099;
  verbs::SendRequest scattered = send_request(++id_, {});
  scattered.sges.count = 16;
  for (unsigned i = 0; i < 16; ++i) scattered.sges.entries[i] = from_.sge(i * kPart, kPart);
  b_->post(receive_request(7, {to_.sge(8 * kAheadBytes, 2 * kAheadBytes)}));
  receive(0);
  a_->post(scattered);
  send(0);
  write(1);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(a_->sends.size(), 0u);
  let_go();
  EXPECT_THAT(a_->sends.statuses(),
              ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess, WcStatus::kSuccess));
  EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(7, 100));
  EXPECT_EQ(rig_.b().read(to_, 8 * kAheadBytes, 16 * kPart), rig_.a().read(from_, 0, 16 * kPart));
  EXPECT_TRUE(has_arrived(0) && has_arrived(1));
}

// What comes late of it, in the stream, is older than the message behind it.
TEST_F(LanesAheadTest, OneThatLeavesTheLaneDoesNotOverwriteTheNext) {
  constexpr std::uint64_t kPart = 4099;
  verbs::SendRequest scattered = write_request(++id_, {}, to_.start, to_.key);
  scattered.sges.count = 16;
  for (unsigned i = 0; i < 16; ++i) scattered.sges.entries[i] = from_.sge(i * kPart, kPart);
  a_->post(scattered);
  a_->post(write_request(++id_, {source(9)}, to_.start, to_.key));
  a_->post(write_request(++id_, {source(1)}, to_.start + kAheadBytes, to_.key));
  ASSERT_TRUE(rig_.run());
  ASSERT_GT(rig_.trunk(1).lane_receives(), 1u);
  let_go();
  EXPECT_THAT(a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(a_->sends.size(), 3u);
  EXPECT_EQ(rig_.b().read(to_, 0, kAheadBytes), rig_.a().read(from_, 9 * kAheadBytes, kAheadBytes));
  EXPECT_TRUE(has_arrived(1));
}

// The peer hears of a piece whose queue pair is gone there, and of those behind it on the lane.
TEST_F(LanesAheadTest, AQueuePairThatIsResetLeavesTheLaneToOthers) {
  const auto other_a = rig_.a().queue_pair();
  const auto other_b = rig_.b().queue_pair();
  LanesRig::connect(rig_.a(), *other_a, rig_.b(), *other_b);
  rig_.trunk(0).hold_lanes(false);
  const std::size_t losses = rig_.losses(0).size() + rig_.losses(1).size();
  std::size_t posted = 0;
  for (unsigned turns = 1; turns < 12; ++turns) {
    ASSERT_TRUE(move(*b_->qp, verbs::QpState::kReset, {}));
    ASSERT_TRUE(move(*a_->qp, verbs::QpState::kReset, {}));
    LanesRig::connect(rig_.a(), *a_, rig_.b(), *b_);
    rig_.advance(milliseconds(250));  // the lane is open again
    ASSERT_TRUE(rig_.run());
    write(0);
    for (unsigned i = 0; i < turns; ++i) {
      other_a->post(write_request(++id_, {source(2)}, to_.start + (2 * kAheadBytes), to_.key));
      rig_.turn();
    }
    posted += turns;
    ASSERT_TRUE(move(*a_->qp, verbs::QpState::kReset, {}));
    ASSERT_TRUE(rig_.run());
    ASSERT_EQ(other_a->sends.size(), posted) << turns;
  }
  EXPECT_EQ(rig_.losses(0).size() + rig_.losses(1).size(), losses);
  EXPECT_THAT(other_a->sends.statuses(), Each(WcStatus::kSuccess));
}

TEST_F(LanesAheadTest, ALaneThatFailsLosesNoneOfThem) {
  for (const unsigned side : {0U, 1U}) {
    rig_.trunk(0).hold_lanes(true);
    for (unsigned n = 0; n < 3; ++n) receive(n);
    for (unsigned n = 0; n < 3; ++n) send(n);
    for (unsigned n = 3; n < 6; ++n) write(n);
    ASSERT_TRUE(rig_.run());
    ASSERT_EQ(rig_.trunk(1).lane_receives(), 6u);
    rig_.trunk(side).fail_lane(rig_.trunk(1).busy_lane());
    let_go();
    expect_arrived(6);
    EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(100, 101, 102));
    a_->sends.clear();
    b_->receives.clear();
    rig_.advance(milliseconds(250));
  }
}

// All of them together, as of one message.
TEST_F(LanesAheadTest, ThereIsABoundOnPieces) {
  a_->post(write_request(++id_, {from_.sge(0, 10 * kAheadBytes)}, to_.start, to_.key));
  a_->post(write_request(++id_, {from_.sge(0, 10 * kAheadBytes)}, to_.start, to_.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 16u);
  let_go();
  EXPECT_THAT(a_->sends.statuses(), ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess));
}

// Those of the messages that were not executed are flushed in their order.
TEST_F(LanesAheadTest, ReceivesThatWereTakenAreFlushed) {
  for (unsigned n = 0; n < 6; ++n) receive(n);
  for (unsigned n = 0; n < 4; ++n) send(n);
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(rig_.trunk(1).lane_receives(), 4u);
  ASSERT_TRUE(move(*b_->qp, verbs::QpState::kError, {}));
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 0u);
  let_go();
  EXPECT_THAT(b_->receives.wr_ids(), ElementsAre(100, 101, 102, 103, 104, 105));
  EXPECT_THAT(b_->receives.statuses(), Each(WcStatus::kFlushed));
  EXPECT_THAT(rig_.b().read(to_, kAheadBytes, (kPlaces - 1) * kAheadBytes), Each(std::byte{0}));
}

}  // namespace
}  // namespace paravane::fake
