// Rings that are saved in the middle, and go on where they were.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/wire_int.h"
#include "guestmem/ring_consumer.h"
#include "guestmem/ring_producer.h"
#include "state/reader.h"
#include "state/writer.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

using state::Loading;
using state::Reader;
using state::Tag;
using state::Writer;
using testing::HasSubstr;

constexpr RingLayout kSavedRing{.producer_at = 0,
                                .consumer_at = 4,
                                .elements_at = kPageBytes,
                                .element_bytes = 64,
                                .elements = 64};

template <typename Ring>
std::vector<std::byte> saved(const Ring& ring) {
  Writer out;
  ring.save(out);
  return out.take();
}

class RingState : public ::testing::Test {
 protected:
  PageList take_in() {
    ram_.show(memory_);
    return PageList::from_directory(memory_, pages_.directory, 2, Rights::kReadWrite).value();
  }
  template <typename Ring>
  std::string load(Ring& ring, std::span<const std::byte> bytes) {
    Loading loading;
    Reader in(bytes, loading);
    ring.load(in);
    return loading.good() ? "" : loading.status().error().message;
  }
  void guest_posts(std::uint32_t index) { ram_.store(pages_.at(0), index); }
  void guest_consumes(std::uint32_t index) { ram_.store(pages_.at(4), index); }

  TestMemory ram_{16 * kPageBytes};
  GuestMemory memory_;
  TestPages pages_ = ram_.contiguous_pages(2);
  PageList list_ = take_in();
};

TEST_F(RingState, AConsumerGoesOnWhereItWas) {
  RingConsumer ring(list_, kSavedRing);
  guest_posts(60);
  ASSERT_EQ(ring.peek(), RingConsumer::Next::kEntry);
  for (int i = 0; i < 50; ++i) ring.advance();
  ASSERT_EQ(ring.publish(), Reach::kOk);
  for (int i = 0; i < 3; ++i) ring.advance();

  RingConsumer later(list_, kSavedRing);
  EXPECT_EQ(load(later, saved(ring)), "");
  EXPECT_EQ(saved(later), saved(ring));
  EXPECT_EQ(later.available(), 7u);
  EXPECT_EQ(later.publish(), Reach::kOk);
  EXPECT_EQ(ram_.load(pages_.at(4)), 53u);
  guest_posts(100);  // around the end
  EXPECT_EQ(later.available(), 47u);
  guest_posts(52);  // back
  EXPECT_EQ(later.peek(), RingConsumer::Next::kEntry);
  EXPECT_EQ(later.available(), 0u);
  EXPECT_TRUE(later.broken());
  RingConsumer broken(list_, kSavedRing);
  EXPECT_EQ(load(broken, saved(later)), "");
  EXPECT_TRUE(broken.broken());
}

TEST_F(RingState, AProducerGoesOnWhereItWas) {
  RingProducer ring(list_, kSavedRing);
  const std::array<std::byte, 64> element{};
  for (int i = 0; i < 64; ++i) ASSERT_EQ(ring.push(element), RingProducer::Push::kDone);
  guest_consumes(10);
  ASSERT_EQ(ring.push(element), RingProducer::Push::kDone);

  RingProducer later(list_, kSavedRing);
  EXPECT_EQ(load(later, saved(ring)), "");
  EXPECT_EQ(saved(later), saved(ring));
  EXPECT_EQ(later.unconsumed(), 55u);
  for (int i = 0; i < 9; ++i) ASSERT_EQ(later.push(element), RingProducer::Push::kDone);
  EXPECT_EQ(later.push(element), RingProducer::Push::kFull);
  EXPECT_EQ(ram_.load(pages_.at(0)), 74u);
  guest_consumes(9);  // back
  EXPECT_EQ(later.push(element), RingProducer::Push::kBroken);
}

TEST_F(RingState, IndicesThatDoNotFitAreRefused) {
  const auto consumer = [](std::uint64_t head, std::uint64_t tail, std::uint64_t published) {
    Writer out;
    out.number(Tag{1}, head);
    out.number(Tag{2}, tail);
    out.number(Tag{3}, published);
    out.flag(Tag{4}, false);
    out.flag(Tag{5}, false);
    return out.take();
  };
  RingConsumer ring(list_, kSavedRing);
  EXPECT_EQ(load(ring, consumer(127, 63, 127)), "");
  EXPECT_THAT(load(ring, consumer(128, 128, 0)), HasSubstr("1: 128 is above 127"));
  EXPECT_THAT(load(ring, consumer(0, 128, 0)), HasSubstr("2: 128 is above 127"));
  EXPECT_THAT(load(ring, consumer(0, 0, 128)), HasSubstr("3: 128 is above 127"));
  EXPECT_THAT(load(ring, consumer(0, 65, 0)), HasSubstr("do not fit"));
  EXPECT_THAT(load(ring, consumer(1, 0, 0)), HasSubstr("do not fit"));

  const auto producer = [](std::uint64_t head, std::uint64_t tail) {
    Writer out;
    out.number(Tag{1}, head);
    out.number(Tag{2}, tail);
    out.flag(Tag{4}, false);
    return out.take();
  };
  RingProducer completions(list_, kSavedRing);
  EXPECT_EQ(load(completions, producer(100, 36)), "");
  EXPECT_THAT(load(completions, producer(100, 37)), HasSubstr("do not fit"));
  EXPECT_THAT(load(completions, producer(128, 0)), HasSubstr("1: 128 is above 127"));
  EXPECT_THAT(load(completions, producer(0, 128)), HasSubstr("2: 128 is above 127"));
}

}  // namespace
}  // namespace paravane
