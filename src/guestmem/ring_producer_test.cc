#include "guestmem/ring_producer.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "base/wire_int.h"
#include "testing/test_memory.h"
#include "testing/wait_until.h"

namespace paravane {
namespace {

using Push = RingProducer::Push;

// The guest's side of a ring that the device fills, with the arithmetic of
// pvrdma_ring.h written out.
class GuestConsumer {
 public:
  GuestConsumer(TestMemory& ram, const TestPages& pages, const RingLayout& layout)
      : ram_(ram), pages_(pages), layout_(layout) {}

  // The oldest element. An invalid producer index fails the test (C43).
  std::optional<std::uint32_t> take() {
    const std::uint32_t n = layout_.elements;
    const std::uint32_t tail = ram_.load(pages_.at(layout_.producer_at));
    EXPECT_EQ(tail & ~(n * 2 - 1), 0u) << "invalid index";
    if (tail == head_) return std::nullopt;
    const std::uint32_t slot = head_ & (n - 1);
    const GuestAddr at =
        pages_.at(layout_.elements_at + std::uint64_t{slot} * layout_.element_bytes);
    const std::uint32_t value = ram_.read<Le32>(at).get();
    for (std::uint32_t i = 4; i + 4 <= layout_.element_bytes; i += 4) {
      EXPECT_EQ(ram_.read<Le32>({at.value + i}).get(), value) << "half an element";
    }
    head_ = (head_ + 1) & (n * 2 - 1);
    ram_.store(pages_.at(layout_.consumer_at), head_);
    return value;
  }

 private:
  TestMemory& ram_;
  const TestPages& pages_;
  RingLayout layout_;
  std::uint32_t head_ = 0;
};

class RingProducerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ram_.show(memory_);
    pages_ = ram_.scattered_pages(4);
    list_ = PageList::from_directory(memory_, pages_.directory, 4, Rights::kReadWrite).value();
  }
  static RingLayout layout(std::uint32_t element_bytes, std::uint32_t elements) {
    return {.producer_at = 8,
            .consumer_at = 12,
            .elements_at = kPageBytes,
            .element_bytes = element_bytes,
            .elements = elements};
  }
  // What Linux makes of 4 pages.
  static RingLayout notification_ring() { return layout(4, 3072); }
  static RingLayout event_ring() { return layout(8, 1536); }
  static RingLayout completion_ring(std::uint32_t elements) { return layout(64, elements); }

  static Push push(RingProducer& ring, std::uint32_t value, std::uint32_t element_bytes) {
    const std::vector<Le32> element(element_bytes / 4, Le32(value));
    return ring.push(std::as_bytes(std::span(element)));
  }
  std::uint32_t producer_in_memory() const { return ram_.load(pages_.at(8)); }
  void guest_sets_consumer(std::uint32_t index) { ram_.store(pages_.at(12), index); }

  // Pushes until the ring is full; the number of elements that went in.
  static std::uint32_t fill(RingProducer& ring, std::uint32_t first, std::uint32_t element_bytes) {
    std::uint32_t next = first;
    while (next - first < 100'000 && push(ring, next, element_bytes) == Push::kDone) ++next;
    return next - first;
  }

  // C41 and C42: a stopped consumer gets exactly `depth` entries, and the rest
  // in order once it goes on.
  void expect_stops_when_full(const RingLayout& ring_layout, std::uint32_t depth) {
    RingProducer ring(list_, ring_layout);
    GuestConsumer guest(ram_, pages_, ring_layout);
    const std::uint32_t bytes = ring_layout.element_bytes;
    std::uint32_t sent = fill(ring, 0, bytes);
    EXPECT_EQ(sent, depth);
    EXPECT_EQ(ring.unconsumed(), depth);
    for (std::uint32_t expected = 0; expected < 5 * depth; ++expected) {
      ASSERT_EQ(guest.take(), expected);
      ASSERT_EQ(push(ring, sent++, bytes), Push::kDone);
      ASSERT_EQ(push(ring, sent, bytes), Push::kFull);
    }
    for (std::uint32_t expected = 5 * depth; expected < sent; ++expected) {
      ASSERT_EQ(guest.take(), expected);
    }
    EXPECT_EQ(guest.take(), std::nullopt);
    EXPECT_EQ(ring.unconsumed(), 0u);
  }

  void guest_sets_producer(std::uint32_t index) { ram_.store(pages_.at(8), index); }

  TestMemory ram_{64 * kPageBytes};
  GuestMemory memory_;
  TestPages pages_;
  PageList list_;
};

TEST_F(RingProducerTest, AnotherProducerGoesOnWhereTheGuestHasIt) {
  GuestConsumer guest(ram_, pages_, event_ring());
  {
    RingProducer gone(list_, event_ring());
    for (std::uint32_t i = 0; i < 5; ++i) ASSERT_EQ(push(gone, i, 8), Push::kDone);
  }
  EXPECT_EQ(guest.take(), 0u);
  RingProducer next(list_, event_ring());
  ASSERT_EQ(next.resume(), Push::kDone);
  EXPECT_EQ(next.unconsumed(), 4u);
  ASSERT_EQ(push(next, 5, 8), Push::kDone);
  for (std::uint32_t i = 1; i <= 5; ++i) EXPECT_EQ(guest.take(), i);
}

TEST_F(RingProducerTest, ARingWithImpossibleIndicesIsNotGoneOnWith) {
  const std::uint32_t end = 2 * 2048;  // of the indices of 1536 entries, for Linux
  for (const auto& [tail, head] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {end, 0}, {0, end}, {0xFFFF'FFFF, 0}, {0, 1}}) {
    guest_sets_producer(tail);
    guest_sets_consumer(head);
    RingProducer ring(list_, event_ring());
    EXPECT_EQ(ring.resume(), Push::kBroken) << tail << " " << head;
    EXPECT_EQ(push(ring, 1, 8), Push::kBroken);
  }
}

TEST_F(RingProducerTest, C40_FiveThousandNotificationsArriveInOrder) {
  RingProducer ring(list_, notification_ring());
  GuestConsumer guest(ram_, pages_, notification_ring());
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(push(ring, i, 4), Push::kDone);
    ASSERT_EQ(guest.take(), i);
  }
  EXPECT_EQ(guest.take(), std::nullopt);
}

TEST_F(RingProducerTest, C41_NotificationRingHoldsExactly1024) {
  expect_stops_when_full(notification_ring(), 1024);
}

TEST_F(RingProducerTest, C42_EventRingHoldsExactly512) {
  expect_stops_when_full(event_ring(), 512);
}

TEST_F(RingProducerTest, C43_NoIndexThatIsStoredIsInvalid) {
  for (const std::uint32_t n : {1u, 2u, 16u, 192u, 3072u, 1536u, 1024u}) {
    const RingLayout ring_layout = layout(4, n);
    ram_.store(pages_.at(8), 0);
    guest_sets_consumer(0);
    RingProducer ring(list_, ring_layout);
    GuestConsumer guest(ram_, pages_, ring_layout);
    for (std::uint32_t i = 0; i < 4 * n + 3; ++i) {
      ASSERT_EQ(push(ring, i, 4), Push::kDone);
      ASSERT_EQ(producer_in_memory() & ~(2 * n - 1), 0u);
      ASSERT_EQ(guest.take(), i);  // looks as well
    }
  }
}

TEST_F(RingProducerTest, C44_NeverMoreThanNUnconsumedAlsoForOne) {
  for (const std::uint32_t n : {1u, 2u, 4u, 64u, 128u}) {
    ram_.store(pages_.at(8), 0);
    guest_sets_consumer(0);
    expect_stops_when_full(completion_ring(n), n);
  }
}

TEST_F(RingProducerTest, C45_IndexFollowsTheElement) {
  constexpr std::uint32_t kElements = 20'000;
  const RingLayout ring_layout = completion_ring(64);
  RingProducer ring(list_, ring_layout);
  std::uint32_t taken = 0;
  std::jthread poller([&] {
    GuestConsumer guest(ram_, pages_, ring_layout);
    for (; taken < kElements; ++taken) {
      std::optional<std::uint32_t> value;
      wait_until([&] { return (value = guest.take()).has_value(); });
      EXPECT_EQ(*value, taken);
    }
  });
  for (std::uint32_t i = 0; i < kElements; ++i) {
    wait_until([&] { return push(ring, i, 64) == Push::kDone; });
  }
  poller.join();
  EXPECT_EQ(taken, kElements);
}

// The driver flushes a queue pair's completions: it moves the others towards the
// tail and the consumer index past what is left over.
TEST_F(RingProducerTest, C46_GuestMovesCompletionsAndSkipsSeveral) {
  const RingLayout ring_layout = completion_ring(8);
  RingProducer ring(list_, ring_layout);
  for (std::uint32_t i = 0; i < 6; ++i) ASSERT_EQ(push(ring, i, 64), Push::kDone);
  for (std::uint64_t slot = 0; slot < 3; ++slot) {
    std::vector<std::byte> element(64);
    ram_.read_bytes(pages_.at(kPageBytes + 64 * slot), element);
    ram_.write_bytes(pages_.at(kPageBytes + 64 * (slot + 3)), element);
  }
  guest_sets_consumer(3);

  EXPECT_EQ(ring.unconsumed(), 3u);
  EXPECT_EQ(ring.consumer_seen(), 3u);
  EXPECT_EQ(fill(ring, 6, 64), 5u);
  // What the guest moved is still as the guest left it.
  for (std::uint64_t slot = 3; slot < 6; ++slot) {
    EXPECT_EQ(ram_.read<Le32>(pages_.at(kPageBytes + 64 * slot)).get(), slot - 3);
  }
}

TEST_F(RingProducerTest, C49_ImpossibleConsumerIndexBreaksThisRingAndNoOther) {
  const RingLayout ring_layout = completion_ring(8);
  for (const std::uint32_t bad : {16u, 5u, 15u, 0xFFFFFFFFu}) {  // 4 were pushed
    ram_.store(pages_.at(8), 0);
    guest_sets_consumer(0);
    RingProducer ring(list_, ring_layout);
    ASSERT_EQ(fill(ring, 0, 64), 8u);
    guest_sets_consumer(4);
    ASSERT_EQ(ring.unconsumed(), 4u);
    guest_sets_consumer(bad == 5u ? 2u : bad);  // 2: going back
    EXPECT_FALSE(ring.broken());
    EXPECT_EQ(ring.unconsumed(), 0u);
    EXPECT_TRUE(ring.broken());
    EXPECT_EQ(push(ring, 9, 64), Push::kBroken);
    guest_sets_consumer(8);  // too late
    EXPECT_EQ(push(ring, 9, 64), Push::kBroken);
    EXPECT_EQ(producer_in_memory(), 8u);
  }
  const RingLayout elsewhere{.producer_at = 0,
                             .consumer_at = 4,
                             .elements_at = 2 * kPageBytes,
                             .element_bytes = 64,
                             .elements = 8};
  RingProducer other(list_, elsewhere);
  EXPECT_EQ(push(other, 1, 64), Push::kDone);
}

TEST_F(RingProducerTest, C49_FullRingWithAnImpossibleIndexIsBrokenNotFull) {
  RingProducer ring(list_, notification_ring());
  ASSERT_EQ(fill(ring, 0, 4), 1024u);
  guest_sets_consumer(0x1000);  // valid for the driver's mask, never reached
  EXPECT_EQ(push(ring, 0, 4), Push::kBroken);
}

TEST_F(RingProducerTest, NothingIsStoredWhileTheMemoryIsAbsent) {
  RingProducer ring(list_, completion_ring(8));
  ASSERT_EQ(push(ring, 0, 64), Push::kDone);
  memory_.set_dma_enabled(false);
  EXPECT_EQ(push(ring, 1, 64), Push::kAbsent);
  EXPECT_EQ(ring.unconsumed(), 1u);
  memory_.set_dma_enabled(true);
  EXPECT_EQ(producer_in_memory(), 1u);
  EXPECT_EQ(push(ring, 1, 64), Push::kDone);
  EXPECT_EQ(producer_in_memory(), 2u);
}

TEST_F(RingProducerTest, ElementOnAnAbsentPageIsNotPublished) {
  const RingLayout ring_layout = completion_ring(128);
  RingProducer ring(list_, ring_layout);
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(push(ring, i, 64), Push::kDone);
  memory_.unmap(pages_.pages[2], kPageBytes);  // slots 64 to 127
  EXPECT_EQ(push(ring, 64, 64), Push::kAbsent);
  EXPECT_EQ(producer_in_memory(), 64u);
}

}  // namespace
}  // namespace paravane
