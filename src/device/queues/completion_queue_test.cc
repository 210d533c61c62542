#include "device/queues/completion_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "abi/ring_state.h"
#include "device/forgotten.h"
#include "testing/test_memory.h"

namespace paravane::device {
namespace {

struct RecordingSink final : CompletionSink {
  void on_completion(CompletionQueue& cq, bool solicited) override {
    if (cq.would_fire(solicited)) ++would_fire;
    ++completions;
  }
  std::optional<std::uint64_t> may_hold(CompletionQueue&) override {
    if (held == room) return std::nullopt;
    ++held;
    return ++numbers;
  }
  void on_released(std::size_t count) override { held -= count; }
  void forget_qp(std::uint32_t qp) override { forgotten.forget(qp, numbers); }
  bool is_void(std::uint32_t qp, std::uint64_t number) const override {
    return forgotten.covers(qp, number);
  }
  std::uint64_t numbers = 0;
  Forgotten forgotten;
  void on_overrun(CompletionQueue&, bool broken) override {
    ++overruns;
    was_broken = broken;
  }
  int completions = 0;
  int would_fire = 0;
  std::size_t held = 0;
  std::size_t room = 1000;
  int overruns = 0;
  bool was_broken = false;
};

// Guest memory that the device can reach from the start.
struct ShownMemory {
  ShownMemory() { ram.show(memory); }
  GuestMemory memory;
  TestMemory ram{1 << 20};
};

class CompletionQueueTest : public ::testing::Test {
 protected:
  PageList pages() {
    return *PageList::from_directory(memory_, pages_.directory, pages_.count(), Rights::kReadWrite);
  }
  static verbs::Completion completion(std::uint64_t wr_id, std::uint32_t qp = 1) {
    verbs::Completion made;
    made.wr_id = wr_id;
    made.qp_tag = qp;
    return made;
  }
  std::uint64_t wr_id_at(std::uint32_t slot) const {
    return ram_.read<abi::Cqe>(pages_.at(kPageBytes + slot * sizeof(abi::Cqe))).wr_id.get();
  }
  std::uint32_t producer() const { return ram_.load(pages_.at(abi::kRxProducerAt)); }
  void consume_up_to(std::uint32_t head) { ram_.store(pages_.at(abi::kRxConsumerAt), head); }

  ShownMemory shown_;
  GuestMemory& memory_ = shown_.memory;
  TestMemory& ram_ = shown_.ram;
  TestPages pages_ = ram_.scattered_pages(2);
  RecordingSink sink_;
  UserContext owner_{.handle = 3, .page = 1};
  CompletionQueue cq_{{.handle = 9, .owner = &owner_, .entries = 4}, pages(), sink_};
};

TEST_F(CompletionQueueTest, WritesElementAndIndex) {
  ASSERT_TRUE(cq_.push(completion(77), verbs::Reveal::kNow));

  EXPECT_EQ(producer(), 1u);
  EXPECT_EQ(wr_id_at(0), 77u);
  EXPECT_EQ(cq_.unconsumed(), 1u);
  EXPECT_EQ(sink_.completions, 1);
}

TEST_F(CompletionQueueTest, ShowsTogetherWhatIsPushedForSoon) {
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kSoon));
  EXPECT_EQ(producer(), 0u);
  EXPECT_EQ(sink_.completions, 0);
  cq_.reveal();
  EXPECT_EQ(producer(), 3u);
  EXPECT_EQ(sink_.completions, 1);
}

TEST_F(CompletionQueueTest, GivesSendSlotsBackBeforeTheirCompletionsAreSeen) {
  constexpr std::uint64_t kSendProducerAt = 256;  // of the header page, which has room
  constexpr std::uint64_t kSendConsumerAt = 260;
  PageList list = pages();
  RingConsumer sends(list, {.producer_at = kSendProducerAt,
                            .consumer_at = kSendConsumerAt,
                            .elements_at = kPageBytes,
                            .element_bytes = 64,
                            .elements = 8});
  ram_.store(pages_.at(kSendProducerAt), 2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    ASSERT_EQ(sends.peek(), RingConsumer::Next::kEntry);
    sends.advance();
    cq_.publish_before_reveal(sends);
    ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kSoon));
  }
  EXPECT_EQ(ram_.load(pages_.at(kSendConsumerAt)), 0u);
  ASSERT_TRUE(cq_.push(completion(3, 2), verbs::Reveal::kNow));  // another's shows all
  EXPECT_EQ(producer(), 3u);
  EXPECT_EQ(ram_.load(pages_.at(kSendConsumerAt)), 2u);
}

TEST_F(CompletionQueueTest, C44_FullTwiceIsAnOverrunToldOnce) {
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kNow));
  EXPECT_FALSE(cq_.push(completion(8), verbs::Reveal::kNow));
  EXPECT_FALSE(cq_.push(completion(9), verbs::Reveal::kNow));

  EXPECT_EQ(wr_id_at(0), 0u) << "never overwritten";
  EXPECT_EQ(sink_.overruns, 1);
  EXPECT_FALSE(sink_.was_broken);
  consume_up_to(4);
  EXPECT_FALSE(cq_.push(completion(10), verbs::Reveal::kNow)) << "dead for good";
}

TEST_F(CompletionQueueTest, C44_WhatHasNoRoomWaitsForTheGuestToTakeSome) {
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kNow));
  EXPECT_EQ(producer(), 4u);
  EXPECT_EQ(sink_.held, 2u);
  EXPECT_EQ(cq_.retry_held(100), 0u);
  EXPECT_EQ(wr_id_at(0), 0u) << "never overwritten";

  consume_up_to(2);
  EXPECT_EQ(cq_.retry_held(1), 1u) << "no more than was asked for";
  EXPECT_EQ(sink_.held, 1u);
  EXPECT_EQ(wr_id_at(0), 4u);
  EXPECT_TRUE(cq_.holding());
  EXPECT_EQ(cq_.pushed(), 5u) << "the guest sees no more than were written";
}

TEST_F(CompletionQueueTest, C44_AQueueOfOneElementWorks) {
  CompletionQueue one({.handle = 1, .owner = nullptr, .entries = 1}, pages(), sink_);
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(one.push(completion(i), verbs::Reveal::kNow));
    EXPECT_EQ(wr_id_at(0), i);
    consume_up_to(producer());
  }
  EXPECT_EQ(one.consumed(), 10u) << "ten turns of an index that has two values";
}

TEST_F(CompletionQueueTest, C49_AnImpossibleConsumerIndexIsItsEnd) {
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kNow));
  consume_up_to(0xFFFF'FFFF);
  EXPECT_FALSE(cq_.push(completion(4), verbs::Reveal::kNow));

  EXPECT_EQ(sink_.overruns, 1);
  EXPECT_TRUE(sink_.was_broken);
}

TEST_F(CompletionQueueTest, C53_ArmsUpgradeAndNeverDowngrade) {
  cq_.set_arm(true);
  EXPECT_EQ(cq_.arm(), CompletionQueue::Arm::kSolicited);
  EXPECT_FALSE(cq_.would_fire(false));
  EXPECT_TRUE(cq_.would_fire(true));
  cq_.set_arm(false);
  EXPECT_TRUE(cq_.would_fire(false));
  cq_.set_arm(true);
  EXPECT_EQ(cq_.arm(), CompletionQueue::Arm::kAny);
}

TEST_F(CompletionQueueTest, KnowsWhetherASolicitedCompletionStillWaits) {
  verbs::Completion solicited = completion(1);
  solicited.solicited = true;
  ASSERT_TRUE(cq_.push(solicited, verbs::Reveal::kNow));
  ASSERT_TRUE(cq_.push(completion(2), verbs::Reveal::kNow));
  cq_.set_arm(true);
  EXPECT_TRUE(cq_.holds_what_arm_waits_for());

  consume_up_to(1);
  EXPECT_FALSE(cq_.holds_what_arm_waits_for()) << "only the other one is left";
  cq_.set_arm(false);
  EXPECT_TRUE(cq_.holds_what_arm_waits_for());
}

TEST_F(CompletionQueueTest, CompletionsWaitInOrderWhileTheMemoryIsAway) {
  memory_.set_dma_enabled(false);
  ASSERT_TRUE(cq_.push(completion(1), verbs::Reveal::kNow));
  memory_.set_dma_enabled(true);
  ASSERT_TRUE(cq_.push(completion(2), verbs::Reveal::kNow));
  EXPECT_EQ(producer(), 0u) << "2 must not overtake 1";
  EXPECT_EQ(sink_.held, 2u);
  EXPECT_EQ(cq_.retry_held(100), 2u);

  EXPECT_FALSE(cq_.holding());
  EXPECT_EQ(wr_id_at(0), 1u);
  EXPECT_EQ(wr_id_at(1), 2u);
}

TEST_F(CompletionQueueTest, HoldsNoMoreThanItsDeviceHasRoomFor) {
  sink_.room = 2;
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kNow));
  }
  EXPECT_FALSE(cq_.push(completion(6), verbs::Reveal::kNow));
  EXPECT_EQ(sink_.overruns, 1);
  EXPECT_EQ(sink_.held, 0u);
}

TEST_F(CompletionQueueTest, HoldsNoMoreThanItsOwnSize) {
  memory_.set_dma_enabled(false);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(cq_.push(completion(i), verbs::Reveal::kNow));
  EXPECT_FALSE(cq_.push(completion(4), verbs::Reveal::kNow));

  EXPECT_EQ(sink_.overruns, 1);
  EXPECT_FALSE(cq_.holding());
}

TEST_F(CompletionQueueTest, NothingOfADestroyedQueuePairAppearsLater) {
  memory_.set_dma_enabled(false);
  ASSERT_TRUE(cq_.push(completion(1, 5), verbs::Reveal::kNow));
  ASSERT_TRUE(cq_.push(completion(2, 6), verbs::Reveal::kNow));
  sink_.forget_qp(5);
  memory_.set_dma_enabled(true);
  cq_.retry_held(100);

  EXPECT_EQ(producer(), 1u);
  EXPECT_EQ(wr_id_at(0), 2u);
}

TEST_F(CompletionQueueTest, WhatADestroyedQueuePairLeftMakesRoomForOthers) {
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(cq_.push(completion(i, 5), verbs::Reveal::kNow));
  }
  sink_.forget_qp(5);
  EXPECT_TRUE(cq_.push(completion(9, 5), verbs::Reveal::kNow)) << "the next one with that handle";
  EXPECT_EQ(sink_.held, 1u);
  consume_up_to(4);
  EXPECT_EQ(cq_.retry_held(100), 1u);
  EXPECT_EQ(wr_id_at(0), 9u);
}

}  // namespace
}  // namespace paravane::device
