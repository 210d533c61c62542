#include "guestmem/ring_consumer.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/wire_int.h"
#include "testing/test_memory.h"
#include "testing/wait_until.h"

namespace paravane {
namespace {

using Next = RingConsumer::Next;

// A send queue as the driver lays it out: ring state, then scattered pages.
class RingConsumerTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kElements = 128;
  static constexpr std::uint32_t kStride = 64;

  PageList take_in() {
    ram_.show(memory_);
    return PageList::from_directory(memory_, pages_.directory, 3, Rights::kReadWrite).value();
  }
  static RingLayout layout(std::uint32_t elements) {
    return {.producer_at = 0,
            .consumer_at = 4,
            .elements_at = kPageBytes,
            .element_bytes = kStride,
            .elements = elements};
  }

  // The guest's side.
  void guest_sets_producer(std::uint32_t index) { ram_.store(pages_.at(0), index); }
  std::uint32_t consumer_in_memory() { return ram_.load(pages_.at(4)); }
  void guest_writes(std::uint32_t slot, std::uint64_t value) {
    ram_.write(pages_.at(kPageBytes + std::uint64_t{slot} * kStride), Le64(value));
  }
  static std::uint64_t head_of(RingConsumer& ring) {
    Le64 value;
    EXPECT_EQ(ring.copy_head(0, std::as_writable_bytes(std::span(&value, 1))), Reach::kOk);
    return value.get();
  }

  TestMemory ram_{64 * kPageBytes};
  GuestMemory memory_;
  TestPages pages_ = ram_.scattered_pages(3);
  PageList list_ = take_in();
  RingConsumer ring_{list_, layout(kElements)};
};

TEST_F(RingConsumerTest, EmptyRingHasNothing) {
  EXPECT_EQ(ring_.peek(), Next::kEmpty);
  EXPECT_EQ(ring_.available(), 0u);
}

TEST_F(RingConsumerTest, EntriesComeInOrderAroundTheRing) {
  const RingIndex driver(kElements);
  std::uint32_t tail = 0;
  for (std::uint64_t i = 0; i < 5 * kElements; ++i) {
    guest_writes(driver.slot(tail), i);
    tail = driver.next(tail);
    guest_sets_producer(tail);
    ASSERT_EQ(ring_.peek(), Next::kEntry);
    ASSERT_EQ(head_of(ring_), i);
    ring_.advance();
    ASSERT_EQ(ring_.publish(), Reach::kOk);
    ASSERT_EQ(consumer_in_memory(), tail);
    ASSERT_TRUE(driver.valid(consumer_in_memory()));  // C43
  }
  EXPECT_EQ(ring_.peek(), Next::kEmpty);
}

TEST_F(RingConsumerTest, FullRingDrains) {
  for (std::uint32_t i = 0; i < kElements; ++i) guest_writes(i, 500 + i);
  guest_sets_producer(kElements);
  EXPECT_EQ(ring_.available(), kElements);
  for (std::uint32_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(ring_.peek(), Next::kEntry);
    EXPECT_EQ(head_of(ring_), 500u + i);
    ring_.advance();
  }
  EXPECT_EQ(ring_.peek(), Next::kEmpty);
}

TEST_F(RingConsumerTest, SlotsAreTheGuestsAgainWhenPublished) {
  guest_sets_producer(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(ring_.peek(), Next::kEntry);
    ring_.advance();
  }
  EXPECT_EQ(consumer_in_memory(), 0u);
  EXPECT_EQ(ring_.publish(), Reach::kOk);
  EXPECT_EQ(consumer_in_memory(), 3u);
  ram_.store(pages_.at(4), 77);  // nothing new: the guest's line is left alone
  EXPECT_EQ(ring_.publish(), Reach::kOk);
  EXPECT_EQ(consumer_in_memory(), 77u);
}

TEST_F(RingConsumerTest, ProducerIndexIsReadOnlyWhenOursIsUsedUp) {
  guest_sets_producer(2);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  guest_sets_producer(0xFFFFFFFF);  // a hostile guest: not looked at yet
  ring_.advance();
  EXPECT_EQ(ring_.peek(), Next::kEntry);
  ring_.advance();
  EXPECT_EQ(ring_.peek(), Next::kBroken);
}

TEST_F(RingConsumerTest, C49_ImpossibleProducerIndexBreaksThisRingAndNoOther) {
  RingConsumer other(list_, {.producer_at = 8,
                             .consumer_at = 12,
                             .elements_at = kPageBytes,
                             .element_bytes = kStride,
                             .elements = 4});
  ram_.store(pages_.at(8), 1);
  for (const std::uint32_t bad : {2 * kElements, kElements + 1, 0xFFFFFFFFu, 0x80000000u}) {
    ring_.reset();
    guest_sets_producer(bad);
    EXPECT_EQ(ring_.peek(), Next::kBroken) << bad;
    EXPECT_EQ(ring_.available(), 0u);
    guest_sets_producer(1);  // too late
    EXPECT_EQ(ring_.peek(), Next::kBroken);
  }
  EXPECT_EQ(other.peek(), Next::kEntry);
  EXPECT_EQ(consumer_in_memory(), 0u);
}

TEST_F(RingConsumerTest, ProducerIndexThatGoesBackBreaksTheRing) {
  guest_sets_producer(5);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  guest_sets_producer(3);
  EXPECT_EQ(ring_.available(), 0u);
  EXPECT_EQ(ring_.peek(), Next::kBroken);
}

TEST_F(RingConsumerTest, GuestCannotMoveOurConsumerIndex) {
  guest_writes(1, 11);
  guest_sets_producer(2);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  ring_.advance();
  ram_.store(pages_.at(4), 77);  // a hostile guest moves us
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  EXPECT_EQ(head_of(ring_), 11u);
  ring_.advance();
  ring_.publish();
  EXPECT_EQ(consumer_in_memory(), 2u);
}

TEST_F(RingConsumerTest, ResetStartsAtZeroAndStoresNothing) {
  guest_sets_producer(5);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  ring_.advance();
  ring_.publish();
  ring_.reset();
  EXPECT_EQ(consumer_in_memory(), 1u);  // the guest zeroes it, not we
  guest_sets_producer(0);
  EXPECT_EQ(ring_.peek(), Next::kEmpty);
  guest_sets_producer(1);
  guest_writes(0, 9);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  EXPECT_EQ(head_of(ring_), 9u);
}

TEST_F(RingConsumerTest, PartsOfAnEntryCanBeCopiedAndNothingBeyondIt) {
  guest_writes(0, 1);
  ram_.write(pages_.at(kPageBytes + 56), Le64(2));
  guest_sets_producer(1);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  Le64 value;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  ASSERT_EQ(ring_.copy_head(56, bytes), Reach::kOk);
  EXPECT_EQ(value.get(), 2u);
  EXPECT_EQ(ring_.copy_head(57, bytes), Reach::kOutside);
  EXPECT_EQ(ring_.copy_head(0xFFFFFFFF, bytes), Reach::kOutside);
  std::array<std::byte, kStride + 1> more;
  EXPECT_EQ(ring_.copy_head(0, more), Reach::kOutside);
}

TEST_F(RingConsumerTest, AbsentRingWaitsAndTheGuestLearnsOurIndexAfterwards) {
  guest_sets_producer(2);
  ASSERT_EQ(ring_.peek(), Next::kEntry);
  memory_.set_dma_enabled(false);
  ring_.advance();
  EXPECT_EQ(ring_.publish(), Reach::kAbsent);
  EXPECT_EQ(ring_.peek(), Next::kEntry);  // we know of one more
  ring_.advance();
  EXPECT_EQ(ring_.publish(), Reach::kAbsent);
  EXPECT_EQ(ring_.peek(), Next::kAbsent);
  EXPECT_EQ(consumer_in_memory(), 0u);
  memory_.set_dma_enabled(true);
  EXPECT_EQ(ring_.peek(), Next::kEmpty);
  EXPECT_EQ(consumer_in_memory(), 2u);
}

TEST_F(RingConsumerTest, RingOfOneWorks) {
  RingConsumer ring(list_, layout(1));
  for (std::uint32_t i = 0; i < 8; ++i) {
    guest_writes(0, i);
    guest_sets_producer((i + 1) % 2);
    ASSERT_EQ(ring.peek(), Next::kEntry);
    EXPECT_EQ(head_of(ring), i);
    ring.advance();
    ASSERT_EQ(ring.publish(), Reach::kOk);
    EXPECT_EQ(ring.peek(), Next::kEmpty);
    EXPECT_EQ(consumer_in_memory(), (i + 1) % 2);
  }
  guest_sets_producer(2);
  EXPECT_EQ(ring.peek(), Next::kBroken);
}

TEST_F(RingConsumerTest, ConsumesWhatAnotherThreadProduces) {
  constexpr std::uint64_t kEntries = 20'000;
  std::jthread guest([&] {
    const RingIndex driver(kElements);
    std::uint32_t tail = 0;
    for (std::uint64_t i = 0; i < kEntries; ++i) {
      wait_until([&] { return driver.used(tail, consumer_in_memory()) < kElements; });
      guest_writes(driver.slot(tail), i);
      tail = driver.next(tail);
      guest_sets_producer(tail);
    }
  });
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    wait_until([&] { return ring_.peek() == Next::kEntry; });
    ASSERT_EQ(head_of(ring_), i);
    ring_.advance();
    ASSERT_EQ(ring_.publish(), Reach::kOk);
  }
}

}  // namespace
}  // namespace paravane
