#include "device/notification_ring.h"

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
  ring.put(11);
  ring.put(22);
  EXPECT_TRUE(ring.flush());

  EXPECT_EQ(producer(), 2u);
  EXPECT_EQ(element(0), 11u);
  EXPECT_EQ(element(1), 22u);
  EXPECT_EQ(ring.unconsumed(), 2u);
  EXPECT_FALSE(ring.flush()) << "nothing new";
}

TEST_F(NotificationRingTest, C41_WhatDoesNotFitWaitsAndNothingIsLost) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1500; ++i) {
    ring.put(i);
    ring.flush();
  }
  EXPECT_EQ(producer(), 1024u);
  EXPECT_EQ(ring.waiting(), 476u);

  consume_up_to(1000);
  EXPECT_TRUE(ring.flush());
  EXPECT_EQ(ring.waiting(), 0u);
  EXPECT_EQ(producer(), 1500u);
  EXPECT_EQ(element(1499 & 1023), 1499u);
}

TEST_F(NotificationRingTest, C42_EventRingsHold512) {
  NotificationRing ring = make(8);
  for (std::uint64_t i = 0; i < 600; ++i) ring.put(i << 32 | 9);
  ring.flush();

  EXPECT_EQ(producer(), 512u);
  EXPECT_EQ(element(2 * 511), 9u);
  EXPECT_EQ(element(2 * 511 + 1), 511u);
}

TEST_F(NotificationRingTest, AGuestThatNeverLooksDoesNotMakeUsGrow) {
  NotificationRing ring = make(4);
  for (int i = 0; i < 200'000; ++i) {
    ring.put(static_cast<std::uint64_t>(i % 50));
    ring.flush();
  }
  EXPECT_LE(ring.waiting(), NotificationRing::kMergeAbove + 50);

  // Whatever is merged is still told once after everything that was published.
  consume_up_to(producer());
  while (ring.waiting() > 0) {
    ring.flush();
    consume_up_to(producer());
  }
  ring.put(7);
  EXPECT_TRUE(ring.flush()) << "an entry that has been published is new again";
}

TEST_F(NotificationRingTest, WhatIsForgottenIsNotPublished) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1026; ++i) ring.put(i % 2);
  ring.flush();
  ASSERT_EQ(ring.waiting(), 2u);
  ring.forget(UINT32_MAX, 1);

  EXPECT_EQ(ring.waiting(), 1u);
}

TEST_F(NotificationRingTest, C49_AnImpossibleIndexStopsThisRing) {
  NotificationRing ring = make(4);
  for (std::uint32_t i = 0; i < 1025; ++i) ring.put(i);
  ring.flush();
  consume_up_to(0x8000'0000);
  EXPECT_FALSE(ring.flush());

  EXPECT_TRUE(ring.broken());
  EXPECT_EQ(ring.waiting(), 0u);
  ring.put(1);
  EXPECT_EQ(ring.waiting(), 0u);
}

TEST_F(NotificationRingTest, EntriesWaitWhileTheMemoryIsAway) {
  NotificationRing ring = make(4);
  memory_.set_dma_enabled(false);
  ring.put(5);
  EXPECT_FALSE(ring.flush());
  memory_.set_dma_enabled(true);

  EXPECT_TRUE(ring.flush());
  EXPECT_EQ(element(0), 5u);
}

}  // namespace
}  // namespace paravane::device
