// Long messages go from guest memory to guest memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "testing/lanes_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using verbs::WcStatus;

constexpr std::uint64_t kShort = (16 << 10) - 1;  // goes in the stream
constexpr std::uint64_t kLong = 1 << 20;

class LanesTest : public testing::Test {
 protected:
  LanesTest() {
    LanesRig::connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_);
    rig_.a().fill(from_, 3);
    register_memory();
  }
  // Memory is registered when the first long message wants that.
  void register_memory() {
    write(kLong / 2);
    rig_.run();
    qp_a_->sends.clear();
    before_ = rig_.lane_bytes();
  }
  void write(std::uint64_t bytes) {
    qp_a_->post(write_request(++id_, {from_.sge(0, bytes)}, to_.start, to_.key));
  }
  std::uint64_t by_lane() const { return rig_.lane_bytes() - before_; }
  void expect_all(std::size_t count) {
    EXPECT_EQ(qp_a_->sends.size(), count);
    EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  }
  bool has_arrived(std::uint64_t offset, std::uint64_t bytes) {
    return rig_.b().read(to_, offset, bytes) == EngineVm::pattern(bytes, 3);
  }

  LanesRig rig_;
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const EngineBuffer from_ = rig_.a().buffer(kLong);
  const EngineBuffer to_ = rig_.b().buffer(2 * kLong);
  std::uint64_t id_ = 0;
  std::uint64_t before_ = 0;
};

TEST_F(LanesTest, LongWritesAndSendsAreNotCopied) {
  const auto staged = [this](unsigned side) {
    return rig_.tcp(side).channel_to(verbs::HostId{2 - side})->counters().staged_bytes.value();
  };
  const std::uint64_t staged_before = staged(0) + staged(1);
  for (std::uint64_t n = 1; n <= 8; ++n) {
    write(n << 14);
    qp_b_->post(receive_request(100 + n, {to_.sge(kLong, kLong)}));
    qp_a_->post(send_request(++id_, {from_.sge(0, n << 14)}));
  }
  ASSERT_TRUE(rig_.run());
  expect_all(16);
  EXPECT_EQ(by_lane(), 2 * (36u << 14));
  EXPECT_EQ(staged(0) + staged(1), staged_before);
  EXPECT_TRUE(has_arrived(0, 8 << 14));
  EXPECT_TRUE(has_arrived(kLong, 8 << 14));
}

TEST_F(LanesTest, ShortMessagesGoInTheStream) {
  write(kShort);
  ASSERT_TRUE(rig_.run());
  expect_all(1);
  EXPECT_EQ(by_lane(), 0u);
}

// More than a queue pair of an adapter takes in one piece, at both ends and at one.
TEST_F(LanesTest, MemoryInManyPiecesArrives) {
  verbs::SendRequest request = write_request(++id_, {}, to_.start + 9, to_.key);
  request.sges.count = 16;
  for (std::uint32_t i = 0; i < 16; ++i) request.sges.entries[i] = from_.sge(i * 4099, 4099);
  qp_a_->post(request);
  ASSERT_TRUE(rig_.run());
  expect_all(1);
  EXPECT_TRUE(has_arrived(9, 16 * 4099));
}

// The next ones are there before the payload of the first.
TEST_F(LanesTest, RequestsBehindALongOneKeepTheirOrder) {
  rig_.trunk(0).hold_lanes(true);
  write(kLong);
  qp_a_->post(read_request(++id_, {from_.sge(0, 64)}, to_.start, to_.key));
  write(kLong / 2);
  write(0);
  qp_b_->post(receive_request(7, {to_.sge(kLong, 64)}));
  qp_a_->post(send_request(++id_, {from_.sge(0, 64)}));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  EXPECT_EQ(qp_b_->receives.size(), 0u);
  EXPECT_GT(rig_.trunk(1).lane_receives(), 0u);
  rig_.trunk(0).hold_lanes(false);
  ASSERT_TRUE(rig_.run());
  expect_all(5);
  EXPECT_EQ(qp_b_->receives.size(), 1u);
  EXPECT_EQ(by_lane(), kLong + kLong / 2);
}

// What is left of the message goes in the stream, and no retry is spent.
TEST_F(LanesTest, ALaneThatFailsLosesNothing) {
  for (const unsigned side : {0U, 1U}) {
    rig_.trunk(0).hold_lanes(true);
    write(kLong);
    ASSERT_TRUE(rig_.run());
    const std::uint32_t lane = rig_.trunk(1).busy_lane();
    ASSERT_NE(lane, 0u);
    rig_.trunk(side).fail_lane(lane);
    ASSERT_TRUE(rig_.run());
    expect_all(1);
    qp_a_->sends.clear();
    EXPECT_EQ(qp_a_->qp->stats().retries, 0u);
    EXPECT_EQ(rig_.trunk(1).lane_receives() + rig_.trunk(0).lane_sends(), 0u);
    EXPECT_TRUE(has_arrived(0, kLong));
    // And it is opened anew.
    rig_.trunk(0).hold_lanes(false);
    rig_.advance(milliseconds(250));
    before_ = rig_.lane_bytes();
    write(kLong);
    ASSERT_TRUE(rig_.run());
    EXPECT_EQ(by_lane(), kLong);
    qp_a_->sends.clear();
  }
}

TEST_F(LanesTest, APieceThatNeverComesGoesInTheStream) {
  rig_.trunk(0).hold_lanes(true);
  write(kLong);
  rig_.advance(milliseconds(2'900));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.advance(milliseconds(200));
  expect_all(1);
  EXPECT_EQ(qp_a_->qp->stats().retries, 0u);
  EXPECT_TRUE(has_arrived(0, kLong));
}

// A READ is the same the other way, with requests behind it.
TEST_F(LanesTest, LongReadsAreNotCopied) {
  rig_.b().fill(to_, 9);
  for (std::uint64_t n = 1; n <= 4; ++n) {
    qp_a_->post(read_request(++id_, {from_.sge(0, n << 16)}, to_.start, to_.key));
    write(64);
  }
  before_ = rig_.lane_bytes();
  ASSERT_TRUE(rig_.run());
  expect_all(8);
  EXPECT_EQ(by_lane(), 10u << 16);
}

// From where it was, with no retry spent.
TEST_F(LanesTest, AReadWhoseLaneFailsGoesOnInTheStream) {
  rig_.b().fill(to_, 9);
  for (const unsigned side : {0U, 1U}) {
    rig_.trunk(1).hold_lanes(true);
    qp_a_->post(read_request(++id_, {from_.sge(0, kLong)}, to_.start, to_.key));
    ASSERT_TRUE(rig_.run());
    const std::uint32_t lane = rig_.trunk(0).busy_lane();
    ASSERT_NE(lane, 0u);
    rig_.trunk(side).fail_lane(lane);
    ASSERT_TRUE(rig_.run());
    expect_all(1);
    qp_a_->sends.clear();
    EXPECT_EQ(qp_a_->qp->stats().retries, 0u);
    EXPECT_EQ(rig_.a().read(from_, 0, kLong), EngineVm::pattern(kLong, 9));
    rig_.trunk(1).hold_lanes(false);
    rig_.advance(milliseconds(250));
  }
}

// What one VM receives goes by one lane, messages and what READs bring. The peer is told of the
// pieces in the order in which they were posted.
TEST_F(LanesTest, ManyQueuePairsShareALane) {
  constexpr unsigned kPairs = 3;
  constexpr unsigned kRounds = 40;
  constexpr std::uint64_t kBytes = 128 << 10;
  std::vector<std::unique_ptr<EngineQp>> at_a;
  std::vector<std::unique_ptr<EngineQp>> at_b;
  for (unsigned i = 0; i < kPairs; ++i) {
    at_a.push_back(rig_.a().queue_pair());
    at_b.push_back(rig_.b().queue_pair());
    LanesRig::connect(rig_.a(), *at_a.back(), rig_.b(), *at_b.back());
  }
  const std::size_t losses = rig_.losses(0).size() + rig_.losses(1).size();
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned i = round % kPairs;
    at_b[i]->post(read_request(++id_, {to_.sge(kLong, kBytes)}, from_.start, from_.key));
    rig_.turn();
    at_a[(round + 1) % kPairs]->post(
        write_request(++id_, {from_.sge(0, kBytes)}, to_.start, to_.key));
    if (round % 3 == 0) rig_.turn();
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.losses(0).size() + rig_.losses(1).size(), losses);
  std::size_t done = 0;
  for (unsigned i = 0; i < kPairs; ++i) {
    EXPECT_THAT(at_a[i]->sends.statuses(), Each(WcStatus::kSuccess));
    EXPECT_THAT(at_b[i]->sends.statuses(), Each(WcStatus::kSuccess));
    done += at_a[i]->sends.size() + at_b[i]->sends.size();
  }
  EXPECT_EQ(done, 2 * kRounds);
  EXPECT_TRUE(has_arrived(0, kBytes));
  EXPECT_TRUE(has_arrived(kLong, kBytes));
}

}  // namespace
}  // namespace paravane::fake
