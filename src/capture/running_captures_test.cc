#include "capture/running_captures.h"

#include <gtest/gtest.h>

#include "text/pcapng.h"

namespace paravane::capture {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// Counts itself while it exists.
class CountedSource {
 public:
  CountedSource(int number, int& alive) : number_(number), alive_(alive) { ++alive_; }
  ~CountedSource() { --alive_; }
  CountedSource(const CountedSource&) = delete;
  CountedSource& operator=(const CountedSource&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
  int& alive_;
};

class RunningCapturesTest : public testing::Test {
 protected:
  std::shared_ptr<Capture> start(std::uint64_t id, const std::vector<int>& numbers) {
    auto capture = std::make_shared<Capture>(id, model::CaptureSpec{.uplink = "vmnic32"},
                                             std::vector<std::string>{"vmnic32"}, now_);
    std::vector<std::unique_ptr<CountedSource>> sources;
    for (const int number : numbers)
      sources.push_back(std::make_unique<CountedSource>(number, alive_));
    captures_->add(capture, std::move(sources));
    return capture;
  }
  void forget(int number) {
    captures_->forget_if([number](const CountedSource& one) { return one.number() == number; });
  }

  const Instant now_{hours(1)};
  int alive_ = 0;
  std::unique_ptr<RunningCaptures<CountedSource>> captures_ =
      std::make_unique<RunningCaptures<CountedSource>>();
};

TEST_F(RunningCapturesTest, OneEndsWithItsLastSource) {
  EXPECT_TRUE(start(1, {})->has_ended());
  const auto capture = start(2, {1, 2});
  const auto other = start(3, {3});
  forget(1);
  EXPECT_FALSE(capture->has_ended());
  forget(2);
  EXPECT_TRUE(capture->has_ended());
  EXPECT_FALSE(other->has_ended());
  EXPECT_EQ(alive_, 1);
}

TEST_F(RunningCapturesTest, OneEndsOnRequestAndAllWithTheirThread) {
  const auto capture = start(1, {1, 2});
  const auto other = start(2, {3});
  captures_->end(7);
  captures_->end(1);
  EXPECT_TRUE(capture->has_ended());
  EXPECT_EQ(alive_, 1);
  captures_.reset();
  EXPECT_TRUE(other->has_ended());
  EXPECT_EQ(alive_, 0);
}

TEST_F(RunningCapturesTest, OneEndsWithoutAReader) {
  const auto capture = start(1, {1});
  EXPECT_EQ(captures_->next_end(), now_ + seconds(10));
  EXPECT_FALSE(captures_->end_unread(now_ + seconds(9)));
  EXPECT_TRUE(capture->take(now_ + seconds(9)).blocks.empty());
  EXPECT_FALSE(captures_->end_unread(now_ + seconds(18)));
  EXPECT_FALSE(capture->has_ended());
  EXPECT_TRUE(captures_->end_unread(now_ + seconds(19)));
  EXPECT_TRUE(capture->has_ended());
  EXPECT_EQ(alive_, 0);
  EXPECT_EQ(captures_->next_end(), kNever);
}

TEST_F(RunningCapturesTest, WhatWasCapturedIsThereAfterTheEnd) {
  const auto capture = start(1, {1});
  const std::vector<std::byte> packet(100);
  const PacketInfo info{.original_bytes = 100, .kept_bytes = 100, .is_outbound = true};
  EXPECT_TRUE(capture->ring().push(info, packet));
  captures_->end(1);
  const auto packets = capture->take(now_);
  const auto all = text::pcapng::first_packets(packets.blocks, 1, 9);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->count, 1u);
  EXPECT_TRUE(packets.status.ended);
  EXPECT_EQ(packets.status.interfaces.at(0).name, "vmnic32");
  EXPECT_EQ(packets.status.interfaces.at(0).packets, 1u);
}

}  // namespace
}  // namespace paravane::capture
