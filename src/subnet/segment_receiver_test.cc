#include "subnet/segment_receiver.h"

#include <gtest/gtest.h>

#include "subnet/segment_test.h"

namespace paravane::subnet {
namespace {

using std::chrono::seconds;
using wire::infiniband::kSegmentFirst;
using wire::infiniband::kSegmentLast;
using wire::infiniband::MadBytes;
using wire::infiniband::SegmentType;
namespace segment_status = wire::infiniband::segment_status;

class SegmentReceiverTest : public testing::Test {
 protected:
  void begin(const MadBytes& first, const SegmentReceiver::Options& options = {}) {
    receiver_.emplace(first, options);
    receiver_->begin(now_, out_);
  }
  void begin(const SegmentReceiver::Options& options = {}) {
    begin(data_segment(1, kSegmentFirst, 0), options);
  }
  void give(std::uint32_t number, std::uint8_t flags = 0, std::uint32_t payload = 0) {
    give(data_segment(number, flags, payload));
  }
  void give(const MadBytes& mad) { receiver_->on_packet(mad, now_, out_); }
  // The only thing it has said.
  void expect_ack(std::uint32_t number, std::uint32_t window) {
    const MadList out = std::exchange(out_, {});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0], ack_of(number, window));
  }
  void expect_end(SegmentType type, SegmentFault fault, std::uint8_t status) {
    EXPECT_EQ(receiver_->state(), SegmentState::kFailed);
    EXPECT_EQ(receiver_->failure(), (SegmentFailure{.fault = fault, .status = status}));
    const MadList out = std::exchange(out_, {});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0], end_of(type, status));
    EXPECT_EQ(receiver_->bytes(), 0u);
    EXPECT_EQ(receiver_->next_deadline(), kNever);
  }

  Instant now_{};
  MadList out_;
  std::optional<SegmentReceiver> receiver_;
};

TEST_F(SegmentReceiverTest, AcknowledgesTheFirstThenTheEndOfEachWindowAndTheLast) {
  begin({.window = 3});
  expect_ack(1, 4);
  give(2);
  give(3);
  EXPECT_TRUE(out_.empty());
  give(4);
  expect_ack(4, 7);
  give(5, kSegmentLast, 21);
  expect_ack(5, 7);
  EXPECT_EQ(receiver_->state(), SegmentState::kFinished);
  EXPECT_EQ(receiver_->take().size(), kSaHeaders + 4 * kSaData + 1);
  EXPECT_EQ(receiver_->bytes(), 0u);
}

TEST_F(SegmentReceiverTest, AMadOfOneSegmentIsAcknowledgedToo) {
  for (const std::uint32_t payload : {20u, 21u, 219u, 220u}) {
    begin(data_segment(1, kSegmentFirst | kSegmentLast, payload));
    expect_ack(1, 1);
    const MadBytes sent = data_segment(1, kSegmentFirst | kSegmentLast, payload);
    const auto mad = receiver_->take();
    EXPECT_EQ(mad.size(), 36 + payload);
    EXPECT_TRUE(std::ranges::equal(mad, std::span(sent).first(mad.size())));
  }
}

TEST_F(SegmentReceiverTest, WhatComesAgainIsAcknowledgedAgain) {
  begin({.window = 3});
  expect_ack(1, 4);
  give(1, kSegmentFirst);
  expect_ack(1, 4);
  give(2);
  give(2);
  EXPECT_TRUE(out_.empty());  // its window is acknowledged at its end
  give(3);
  give(4, kSegmentLast, 220);
  expect_ack(4, 4);
  for (std::uint32_t number = 2; number <= 4; ++number) {
    give(number, number == 4 ? kSegmentLast : std::uint8_t{0}, 220);
    expect_ack(4, 4);
  }
  now_ += seconds(10);
  receiver_->on_time(now_, out_);
  EXPECT_EQ(receiver_->state(), SegmentState::kOver);
}

TEST_F(SegmentReceiverTest, JoinsSegmentsOfAWindowInAnyOrder) {
  begin({.window = 5});
  expect_ack(1, 6);
  for (const std::uint32_t number : {5u, 3u, 6u, 2u}) {
    give(data_segment(number, number == 6 ? kSegmentLast : std::uint8_t{0}, 120));
    EXPECT_TRUE(out_.empty());
  }
  MadBytes fourth = data_segment(4, 0, 0);
  fourth.back() = std::byte{0xEE};
  give(fourth);
  expect_ack(6, 6);
  const auto mad = receiver_->take();
  ASSERT_EQ(mad.size(), kSaHeaders + 5 * kSaData + 100);
  EXPECT_EQ(mad[kSaHeaders + 4 * kSaData - 1], std::byte{0xEE});
}

TEST_F(SegmentReceiverTest, WhatIsBeyondTheWindowIsNotKept) {
  begin({.window = 3});
  out_.clear();
  const std::size_t bytes = receiver_->bytes();
  for (const std::uint32_t number : {5u, 6u, 0x7FFF'FFFFu, 0xFFFF'FFFFu}) give(number);
  EXPECT_EQ(receiver_->bytes(), bytes);
  EXPECT_TRUE(out_.empty());
}

TEST_F(SegmentReceiverTest, KeepsWhatArrivedAndNoMore) {
  begin(data_segment(1, kSegmentFirst, 0xFFFF'FFFF), {});
  EXPECT_LE(receiver_->bytes(), 256u);
  for (std::uint32_t number = 3; number <= 65; ++number) {
    give(number);
    EXPECT_LE(receiver_->bytes(), 256u * (number - 1));
  }
}

TEST_F(SegmentReceiverTest, AbortsWhatContradictsItself) {
  struct Case {
    MadBytes mad;
    std::uint8_t status;
  };
  MadBytes bad_status = data_segment(2, 0, 0);
  bad_status[27] = std::byte{1};
  MadBytes bad_version = data_segment(2, 0, 0);
  bad_version[24] = std::byte{0};
  MadBytes bad_type = data_segment(2, 0, 0);
  bad_type[25] = std::byte{0};
  const Case cases[] = {
      {data_segment(2, kSegmentLast, 19), segment_status::kBadLength},
      {data_segment(2, kSegmentLast, 0), segment_status::kBadLength},
      {data_segment(2, kSegmentLast, 221), segment_status::kBadLength},
      {data_segment(2, kSegmentLast, 0xFFFF'FFFF), segment_status::kBadLength},
      {data_segment(2, kSegmentFirst, 0), segment_status::kBadFirst},
      {data_segment(1, 0, 0), segment_status::kBadFirst},
      {data_segment(0, 0, 0), segment_status::kBadFirst},
      {data_segment(2, kSegmentLast, 220), segment_status::kBadNumber},  // 3 has come
      {bad_status, segment_status::kBadStatus},
      {bad_version, segment_status::kBadVersion},
      {bad_type, segment_status::kBadType},
  };
  for (const auto& [mad, status] : cases) {
    begin();
    give(3);
    out_.clear();
    give(mad);
    expect_end(SegmentType::kAbort, SegmentFault::kBadPacket, status);
    give(2);
    EXPECT_TRUE(out_.empty());
  }
  begin();
  give(4, kSegmentLast, 220);
  out_.clear();
  give(5);
  expect_end(SegmentType::kAbort, SegmentFault::kBadPacket, segment_status::kBadNumber);
  begin();
  give(4, kSegmentLast, 220);
  out_.clear();
  give(3, kSegmentLast, 220);
  expect_end(SegmentType::kAbort, SegmentFault::kBadPacket, segment_status::kBadNumber);
}

TEST_F(SegmentReceiverTest, AMadIsStoppedBeyondItsBound) {
  const std::size_t most = kSaHeaders + 2 * kSaData + 5;
  begin({.most_bytes = most});
  give(2);
  out_.clear();
  give(3, kSegmentLast, 26);
  expect_end(SegmentType::kStop, SegmentFault::kNoRoom, segment_status::kNoResources);
  begin({.most_bytes = most});
  give(2);
  out_.clear();
  give(3);
  expect_end(SegmentType::kStop, SegmentFault::kNoRoom, segment_status::kNoResources);
  begin({.most_bytes = most});
  give(2);
  give(3, kSegmentLast, 25);
  EXPECT_EQ(receiver_->take().size(), most);
}

TEST_F(SegmentReceiverTest, AbortsWhatTakesTooLong) {
  begin();
  now_ += seconds(30);
  give(2);
  out_.clear();
  EXPECT_EQ(receiver_->next_deadline(), Instant{} + seconds(40));
  now_ = receiver_->next_deadline();
  receiver_->on_time(now_, out_);
  expect_end(SegmentType::kAbort, SegmentFault::kTooLong, segment_status::kTooLong);
}

TEST_F(SegmentReceiverTest, ASenderCanEndIt) {
  begin();
  out_.clear();
  give(end_of(SegmentType::kAbort, segment_status::kTooManyTries));
  EXPECT_EQ(receiver_->failure(), (SegmentFailure{.fault = SegmentFault::kAborted, .status = 126}));
  EXPECT_TRUE(out_.empty());
}

TEST_F(SegmentReceiverTest, TheSenderSaysWithWhichWindowItsAnswerBegins) {
  begin(data_segment(1, kSegmentFirst | kSegmentLast, 220));
  EXPECT_EQ(receiver_->answer_window(), 1u);
  give(ack_of(1, 9));
  EXPECT_EQ(receiver_->answer_window(), 1u);
  give(ack_of(0, 9));
  EXPECT_EQ(receiver_->answer_window(), 9u);
  give(ack_of(0, 0));
  EXPECT_EQ(receiver_->answer_window(), 1u);
}

// The bytes of a MAD of two segments and its ACKs as Linux sends them, written down from its
// send_next_seg() and format_ack() (drivers/infiniband/core/mad_rmpp.c): 300 bytes of data are
// 2 * 220 - 100 of payload, the last segment has 220 - 100; a receive queue of 512 has a window
// of 64.
class LinuxSegmentsTest : public SegmentReceiverTest {
 protected:
  using Head = std::array<std::uint8_t, 36>;

  static constexpr Head kFirst = {0x01, 0x03, 0x02, 0x92, 0x00, 0x00, 0x00, 0x00, 0x11,
                                  0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x00, 0x11,
                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x03,
                                  0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x01, 0x54};
  static constexpr Head kFirstAck = {0x01, 0x03, 0x02, 0x12, 0x00, 0x00, 0x00, 0x00, 0x11,
                                     0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x00, 0x11,
                                     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x01,
                                     0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x41};
  static constexpr Head kLast = {0x01, 0x03, 0x02, 0x92, 0x00, 0x00, 0x00, 0x00, 0x11,
                                 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x00, 0x11,
                                 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x05,
                                 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x78};
  static constexpr Head kLastAck = {0x01, 0x03, 0x02, 0x12, 0x00, 0x00, 0x00, 0x00, 0x11,
                                    0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x00, 0x11,
                                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x01,
                                    0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x41};

  std::vector<std::byte> mad_ = long_mad(300, {.transaction = 0x1122'3344'5566'7788});

  // `head`, the class's header, then `data` and zeros.
  MadBytes bytes(const Head& head, std::size_t from, std::size_t data) const {
    MadBytes bytes{};
    std::ranges::copy(std::as_bytes(std::span(head)), bytes.begin());
    std::ranges::copy(std::span(mad_).subspan(36, 20), bytes.begin() + 36);
    std::ranges::copy(std::span(mad_).subspan(kSaHeaders + from, data), bytes.begin() + 56);
    return bytes;
  }
};

TEST_F(LinuxSegmentsTest, SegmentsAndAcksAreThoseOfLinux) {
  SegmentSender sender(mad_, {});
  sender.begin(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0], bytes(kFirst, 0, 200));
  const MadList first = std::exchange(out_, {});
  begin(first[0]);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0], bytes(kFirstAck, 0, 0));
  const MadList ack = std::exchange(out_, {});
  sender.on_packet(ack[0], now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0], bytes(kLast, 200, 100));
  const MadList last = std::exchange(out_, {});
  give(last[0]);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0], bytes(kLastAck, 0, 0));
  // As user_mad.c copies it for a program: the first segment, then the data of the others.
  std::vector<std::byte> expected = mad_;
  std::ranges::copy(std::span(first[0]).first(kSaHeaders), expected.begin());
  EXPECT_EQ(receiver_->take(), expected);
}

}  // namespace
}  // namespace paravane::subnet
