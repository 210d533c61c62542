#include "subnet/segment_sender.h"

#include <gtest/gtest.h>

#include "subnet/segment_test.h"

namespace paravane::subnet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::kSegmentActive;
using wire::infiniband::kSegmentFirst;
using wire::infiniband::kSegmentLast;
using wire::infiniband::MadBytes;
using wire::infiniband::segment_header_of;
using wire::infiniband::SegmentHeader;
using wire::infiniband::SegmentType;
namespace segment_status = wire::infiniband::segment_status;

class SegmentSenderTest : public testing::Test {
 protected:
  SegmentSender& begin(std::size_t data_bytes, const SegmentSender::Options& options = {}) {
    sender_.emplace(long_mad(data_bytes), options);
    sender_->begin(now_, out_);
    return *sender_;
  }
  void give(const MadBytes& mad) { sender_->on_packet(mad, now_, out_); }
  // The next thing it waits for comes to pass.
  void wait() {
    now_ = std::max(now_, sender_->next_deadline());
    sender_->on_time(now_, out_);
  }
  std::vector<std::uint32_t> numbers() {
    std::vector<std::uint32_t> numbers;
    for (const MadBytes& mad : std::exchange(out_, {})) {
      EXPECT_EQ(segment_header_of(mad).type, SegmentType::kData);
      numbers.push_back(segment_header_of(mad).number.get());
    }
    return numbers;
  }
  // It has failed, and this is all it said.
  void expect_abort(SegmentFault fault, std::uint8_t status) {
    EXPECT_EQ(sender_->state(), SegmentState::kFailed);
    EXPECT_EQ(sender_->failure(), (SegmentFailure{.fault = fault, .status = status}));
    ASSERT_EQ(out_.size(), 1u);
    EXPECT_EQ(segment_header_of(out_[0]).type, SegmentType::kAbort);
    EXPECT_EQ(segment_header_of(out_[0]).status, status);
    EXPECT_EQ(segment_header_of(out_[0]).number.get(), 0u);
    EXPECT_EQ(wire::infiniband::mad_header_of(out_[0]).method, kTableAnswer);
    EXPECT_EQ(sender_->next_deadline(), kNever);
  }

  Instant now_{};
  MadList out_;
  std::optional<SegmentSender> sender_;
};
using Numbers = std::vector<std::uint32_t>;

TEST_F(SegmentSenderTest, SendsOneSegmentUntilTheReceiverAllowsMore) {
  begin(10 * kSaData);
  EXPECT_EQ(numbers(), (Numbers{1}));
  give(ack_of(1, 4));
  EXPECT_EQ(numbers(), (Numbers{2, 3, 4}));
  give(ack_of(3, 4));
  EXPECT_EQ(numbers(), Numbers{});
  give(ack_of(4, 20));
  EXPECT_EQ(numbers(), (Numbers{5, 6, 7, 8, 9, 10}));
  give(ack_of(10, 20));
  EXPECT_EQ(sender_->state(), SegmentState::kFinished);
  EXPECT_EQ(numbers(), Numbers{});
  EXPECT_EQ(sender_->bytes(), kSaHeaders);
}

TEST_F(SegmentSenderTest, StatesTheLengthOfAllAndOfTheLast) {
  begin(2 * kSaData + 1);
  give(ack_of(1, 9));
  ASSERT_EQ(out_.size(), 3u);
  const std::uint8_t flags[] = {kSegmentActive | kSegmentFirst, kSegmentActive,
                                kSegmentActive | kSegmentLast};
  const std::uint32_t lengths[] = {3 * 20 + 401, 0, 20 + 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(segment_header_of(out_[i]).time_flags, flags[i]);
    EXPECT_EQ(segment_header_of(out_[i]).length_window.get(), lengths[i]);
  }
  EXPECT_NE(out_[2][kSaHeaders], std::byte{0});
  for (std::size_t i = kSaHeaders + 1; i < wire::infiniband::kMadBytes; ++i) {
    EXPECT_EQ(out_[2][i], std::byte{0});
  }
}

TEST_F(SegmentSenderTest, AMadWithoutDataIsOneSegment) {
  begin(0);
  ASSERT_EQ(out_.size(), 1u);
  const SegmentHeader header = segment_header_of(out_[0]);
  EXPECT_EQ(header.time_flags, kSegmentActive | kSegmentFirst | kSegmentLast);
  EXPECT_EQ(header.length_window.get(), 20u);
  give(ack_of(1, 1));
  EXPECT_EQ(sender_->state(), SegmentState::kFinished);
}

TEST_F(SegmentSenderTest, KeepsTheResponseTimeOfItsMad) {
  auto mad = long_mad(1);
  mad[26] = std::byte{0xA6};
  sender_.emplace(mad, SegmentSender::Options{});
  sender_->begin(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0][26], std::byte{0xA7});
}

TEST_F(SegmentSenderTest, SendsTheWindowAgainWhenNoAckComes) {
  begin(5 * kSaData);
  give(ack_of(1, 4));
  give(ack_of(2, 4));
  EXPECT_EQ(numbers(), (Numbers{1, 2, 3, 4}));
  now_ = sender_->next_deadline() - milliseconds(1);
  sender_->on_time(now_, out_);
  EXPECT_EQ(numbers(), Numbers{});
  wait();
  EXPECT_EQ(numbers(), (Numbers{3, 4}));
}

TEST_F(SegmentSenderTest, GivesUpAfterItsTriesAndSaysSo) {
  begin(5 * kSaData, {.wait = seconds(1), .retries = 2});
  wait();
  wait();
  EXPECT_EQ(numbers(), (Numbers{1, 1, 1}));
  EXPECT_EQ(now_, Instant{} + seconds(2));
  wait();
  EXPECT_EQ(now_, Instant{} + seconds(3));
  expect_abort(SegmentFault::kNoAnswer, segment_status::kTooManyTries);
}

TEST_F(SegmentSenderTest, ProgressGivesTheTriesBackButTheTimeOfAllEnds) {
  begin(1000 * kSaData, {.wait = seconds(1), .retries = 1, .most_time = seconds(9)});
  for (std::uint32_t number = 1; number <= 8; ++number) {
    wait();
    ASSERT_EQ(numbers(), number == 1 ? (Numbers{1, 1}) : (Numbers{number, number}));
    give(ack_of(number, number + 1));
  }
  out_.clear();
  wait();
  EXPECT_EQ(now_, Instant{} + seconds(9));
  expect_abort(SegmentFault::kTooLong, segment_status::kTooLong);
}

TEST_F(SegmentSenderTest, AnyWindowLeavesInBursts) {
  begin(500 * kSaData);
  EXPECT_EQ(numbers(), (Numbers{1}));
  give(ack_of(1, 0xFFFF'FFFF));
  std::uint32_t last = 1;
  for (const std::size_t burst : {64u, 64u, 64u, 64u, 64u, 64u, 64u, 51u}) {
    const Numbers sent = numbers();
    ASSERT_EQ(sent.size(), burst);
    for (const std::uint32_t number : sent) ASSERT_EQ(number, ++last);
    if (last == 500) break;
    EXPECT_EQ(sender_->next_deadline(), now_);
    sender_->on_time(now_, out_);
  }
  EXPECT_EQ(last, 500u);
  EXPECT_GT(sender_->next_deadline(), now_);
}

TEST_F(SegmentSenderTest, AsksWithWhatHasArrivedWhileTheWindowIsClosed) {
  begin(5 * kSaData);
  give(ack_of(1, 2));
  give(ack_of(2, 2));
  EXPECT_EQ(numbers(), (Numbers{1, 2}));
  wait();
  EXPECT_EQ(numbers(), (Numbers{2}));
  give(ack_of(2, 3));
  EXPECT_EQ(numbers(), (Numbers{3}));
}

TEST_F(SegmentSenderTest, OldAcksDoNothing) {
  begin(10 * kSaData);
  give(ack_of(1, 5));
  give(ack_of(4, 8));
  out_.clear();
  for (const auto& [number, window] : {std::pair{3u, 8u}, {4u, 7u}, {1u, 5u}, {0u, 1u}}) {
    give(ack_of(number, window));
    EXPECT_TRUE(out_.empty());
    EXPECT_EQ(sender_->state(), SegmentState::kRunning);
  }
}

TEST_F(SegmentSenderTest, AbortsAnAckThatCannotBe) {
  MadBytes bad_status = ack_of(1, 4);
  bad_status[27] = std::byte{1};
  MadBytes bad_version = ack_of(1, 4);
  bad_version[24] = std::byte{2};
  MadBytes bad_type = ack_of(1, 4);
  bad_type[25] = std::byte{5};
  const std::pair<MadBytes, std::uint8_t> cases[] = {
      {ack_of(2, 1), segment_status::kBadWindow},
      {ack_of(2, 4), segment_status::kBadNumber},  // it was not sent
      {ack_of(0xFFFF'FFFF, 0xFFFF'FFFF), segment_status::kBadNumber},
      {bad_status, segment_status::kBadStatus},
      {bad_version, segment_status::kBadVersion},
      {bad_type, segment_status::kBadType},
  };
  for (const auto& [mad, status] : cases) {
    begin(5 * kSaData);
    out_.clear();
    give(mad);
    expect_abort(SegmentFault::kBadPacket, status);
    out_.clear();
    give(ack_of(1, 4));
    EXPECT_TRUE(out_.empty());
  }
}

TEST_F(SegmentSenderTest, AnEndOfThePeersIsNotAnswered) {
  begin(5 * kSaData);
  out_.clear();
  give(end_of(SegmentType::kStop, segment_status::kNoResources));
  EXPECT_EQ(sender_->failure(), (SegmentFailure{.fault = SegmentFault::kStopped, .status = 1}));
  EXPECT_TRUE(out_.empty());
  begin(5 * kSaData);
  out_.clear();
  give(end_of(SegmentType::kAbort, 200));
  EXPECT_EQ(sender_->failure(), (SegmentFailure{.fault = SegmentFault::kAborted, .status = 200}));
  EXPECT_TRUE(out_.empty());
}

TEST_F(SegmentSenderTest, AcknowledgesTheLastAckIfAnAnswerFollows) {
  begin(kSaData, {.expects_answer = true});
  out_.clear();
  for (int i = 0; i < 2; ++i) {  // and again, as it may have got lost
    give(ack_of(1, 1));
    ASSERT_EQ(out_.size(), 1u);
    const SegmentHeader header = segment_header_of(out_[0]);
    EXPECT_EQ(header.type, SegmentType::kAck);
    EXPECT_EQ(header.number.get(), 0u);
    EXPECT_EQ(header.length_window.get(), 1u);
    EXPECT_EQ(wire::infiniband::mad_header_of(out_[0]).method, kTableAnswer);
    out_.clear();
  }
  wait();
  EXPECT_EQ(sender_->state(), SegmentState::kOver);
  EXPECT_EQ(now_, Instant{} + seconds(10));
}

TEST_F(SegmentSenderTest, CutsOnlyMadsWithAllOfTheirHeaders) {
  const auto whole = long_mad(0);
  for (std::size_t bytes = 0; bytes < kSaHeaders; ++bytes) {
    EXPECT_FALSE(SegmentSender::can_send(std::span(whole).first(bytes))) << bytes;
  }
  EXPECT_TRUE(SegmentSender::can_send(long_mad(0)));
  EXPECT_FALSE(SegmentSender::can_send(long_mad(400, {.management_class = 4})));
  EXPECT_TRUE(SegmentSender::can_send(long_mad(0, {.management_class = 0x30})));
}

}  // namespace
}  // namespace paravane::subnet
