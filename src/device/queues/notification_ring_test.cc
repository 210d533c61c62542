#include "device/queues/notification_ring.h"

#include <gtest/gtest.h>

#include <vector>

#include "abi/ring_state.h"
#include "testing/test_memory.h"

namespace paravane::device {
namespace {

class NotificationRingTest : public ::testing::Test {
 protected:
  NotificationRingTest() { ram_.show(memory_); }

  NotificationRing make(std::uint32_t element_bytes) {
    return NotificationRing(
        *PageList::from_directory(memory_, pages_.directory, pages_.count(), Rights::kReadWrite),
        element_bytes);
  }
  static Notice notice(std::uint32_t handle) {
    return {.element = handle, .about = Notice::About::kCompletionQueue, .handle = handle};
  }
  static bool flush(NotificationRing& ring) { return ring.flush(UINT32_MAX).published; }
  std::uint32_t producer() const { return ram_.load(pages_.at(abi::kRxProducerAt)); }
  void consume_up_to(std::uint32_t head) { ram_.store(pages_.at(abi::kRxConsumerAt), head); }
  std::uint32_t element(std::uint32_t slot) const {
    return ram_.load(pages_.at(kPageBytes + slot * 4ull));
  }

  GuestMemory memory_;
  TestMemory ram_{1 << 20};
  TestPages pages_ = ram_.scattered_pages(4);
};

TEST_F(NotificationRingTest, PublishesInOrder) {
  NotificationRing ring = make(4);
  ring.put(notice(11));
  ring.put(notice(22));
  EXPECT_TRUE(flush(ring));

  EXPECT_EQ(producer(), 2u);
  EXPECT_EQ(element(0), 11u);
  EXPECT_EQ(element(1), 22u);
  EXPECT_EQ(ring.unconsumed(), 2u);
  EXPECT_FALSE(flush(ring)) << "nothing new";
}

TEST_F(NotificationRingTest, C41_WhatDoesNotFitWaitsAndNothingIsLost) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1500; ++i) {
    ring.put(notice(i));
    flush(ring);
  }
  EXPECT_EQ(producer(), 1024u);
  EXPECT_EQ(ring.waiting(), 476u);

  consume_up_to(1000);
  EXPECT_TRUE(flush(ring));
  EXPECT_EQ(ring.waiting(), 0u);
  EXPECT_EQ(producer(), 1500u);
  EXPECT_EQ(element(1499 & 1023), 1499u);
}

TEST_F(NotificationRingTest, C42_EventRingsHold512) {
  NotificationRing ring = make(8);
  for (std::uint64_t i = 0; i < 600; ++i)
    ring.put({.element = i << 32 | 9, .handle = static_cast<std::uint32_t>(i)});
  flush(ring);

  EXPECT_EQ(producer(), 512u);
  EXPECT_EQ(element(2 * 511), 9u);
  EXPECT_EQ(element(2 * 511 + 1), 511u);
}

TEST_F(NotificationRingTest, AGuestThatNeverLooksDoesNotMakeUsGrow) {
  NotificationRing ring = make(4);
  for (int i = 0; i < 200'000; ++i) {
    ring.put(notice(static_cast<std::uint32_t>(i % 50)));
    flush(ring);
  }
  EXPECT_LE(ring.waiting(), NotificationRing::kMergeAbove + 50);

  // Whatever is merged is still told once after everything that was published.
  consume_up_to(producer());
  while (ring.waiting() > 0) {
    flush(ring);
    consume_up_to(producer());
  }
  ring.put(notice(7));
  EXPECT_TRUE(flush(ring)) << "an entry that has been published is new again";
}

TEST_F(NotificationRingTest, WhatIsForgottenIsNotPublished) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1030; ++i) ring.put(notice(i % 2));
  flush(ring);
  ASSERT_EQ(ring.waiting(), 6u);
  ring.forget(Notice::About::kCompletionQueue, 1);
  ring.forget(Notice::About::kQueuePair, 0);  // another kind of object
  ring.put(notice(1));                        // of the next one with that handle

  consume_up_to(1024);
  EXPECT_TRUE(flush(ring));
  EXPECT_EQ(producer(), 1028u);
  for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(element(slot), 0u);
  EXPECT_EQ(element(3), 1u);
}

TEST_F(NotificationRingTest, WhatIsForgottenIsNotMergedWith) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1024; ++i) ring.put(notice(3));
  flush(ring);
  for (std::size_t i = 0; i < NotificationRing::kMergeAbove; ++i) ring.put(notice(3));
  const std::size_t waiting = ring.waiting();
  ring.put(notice(3));
  EXPECT_EQ(ring.waiting(), waiting) << "merged";

  ring.forget(Notice::About::kCompletionQueue, 3);
  ring.put(notice(3));
  EXPECT_EQ(ring.waiting(), waiting) << "in the place of one that is void";
  while (ring.waiting() > 0) {
    consume_up_to(producer());
    flush(ring);
  }
  EXPECT_EQ(producer(), 1025u) << "the last one alone";
}

// A guest that never looks, and makes and destroys a queue for each event.
TEST_F(NotificationRingTest, ObjectsThatComeAndGoDoNotMakeUsGrow) {
  NotificationRing ring = make(4);
  for (int i = 0; i < 1025; ++i) ring.put(notice(99));  // the last one has no room
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    ring.put(notice(i % 50));
    flush(ring);
    ring.forget(Notice::About::kCompletionQueue, i % 50);
  }
  EXPECT_LE(ring.waiting(), NotificationRing::kMergeAbove + 51);
}

TEST_F(NotificationRingTest, AFlushLooksAtNoMoreThanItMay) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 100; ++i) ring.put(notice(i));
  for (std::uint32_t i = 0; i < 90; ++i) ring.forget(Notice::About::kCompletionQueue, i);
  NotificationRing::Flushed flushed = ring.flush(60);
  EXPECT_FALSE(flushed.published) << "all void so far";
  EXPECT_EQ(flushed.taken, 60u);
  EXPECT_TRUE(flushed.cut);
  flushed = ring.flush(60);
  EXPECT_EQ(flushed.taken, 40u);
  EXPECT_FALSE(flushed.cut);
  EXPECT_EQ(producer(), 10u);
}

TEST_F(NotificationRingTest, C49_AnImpossibleIndexStopsThisRing) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1025; ++i) ring.put(notice(i));
  flush(ring);
  consume_up_to(0x8000'0000);
  EXPECT_FALSE(flush(ring));

  EXPECT_TRUE(ring.broken());
  EXPECT_EQ(ring.waiting(), 0u);
  ring.put(notice(1));
  EXPECT_EQ(ring.waiting(), 0u);
}

TEST_F(NotificationRingTest, EntriesWaitWhileTheMemoryIsAway) {
  NotificationRing ring = make(4);
  memory_.set_dma_enabled(false);
  ring.put(notice(5));
  EXPECT_FALSE(flush(ring));
  memory_.set_dma_enabled(true);

  EXPECT_TRUE(flush(ring));
  EXPECT_EQ(element(0), 5u);
}

}  // namespace
}  // namespace paravane::device
