#include "guestmem/atomic_word.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "base/wire_int.h"
#include "guestmem/memory_failure.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

class AtomicWordTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(install_memory_failure_handler());
    ram_.show(memory_);
  }

  Extent word(std::uint64_t offset) {
    return *memory_.find_extent({ram_.base().value + offset}, 8, Rights::kWrite);
  }
  std::uint64_t value(std::uint64_t offset) const {
    return ram_.read<Le64>({ram_.base().value + offset}).get();
  }

  TestMemory ram_{1 << 20};
  GuestMemory memory_;
};

TEST_F(AtomicWordTest, AddsAndTellsWhatWasThere) {
  ram_.write({ram_.base().value + 8}, Le64(40));
  const WordChange add{.kind = WordChange::Kind::kFetchAndAdd, .operand = 2};
  EXPECT_EQ(change_word(word(8), add), 40u);
  EXPECT_EQ(value(8), 42u);
  EXPECT_EQ(value(0), 0u);
  EXPECT_EQ(value(16), 0u);
}

TEST_F(AtomicWordTest, AdditionWraps) {
  ram_.write(ram_.base(), Le64(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(change_word(word(0), {.kind = WordChange::Kind::kFetchAndAdd, .operand = 2}),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(value(0), 1u);
}

TEST_F(AtomicWordTest, SwapsOnlyWhatIsEqual) {
  ram_.write(ram_.base(), Le64(7));
  EXPECT_EQ(
      change_word(word(0), {.kind = WordChange::Kind::kCompareAndSwap, .operand = 8, .swap = 9}),
      7u);
  EXPECT_EQ(value(0), 7u);
  EXPECT_EQ(
      change_word(word(0), {.kind = WordChange::Kind::kCompareAndSwap, .operand = 7, .swap = 9}),
      7u);
  EXPECT_EQ(value(0), 9u);
}

TEST_F(AtomicWordTest, IsOneStepForProcessorsOfTheGuest) {
  constexpr std::uint64_t kEach = 50'000;
  std::jthread guest([&] {
    for (std::uint64_t i = 0; i < kEach; ++i) {
      __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(ram_.at(ram_.base())), 1,
                         __ATOMIC_RELAXED);
    }
  });
  for (std::uint64_t i = 0; i < kEach; ++i) {
    ASSERT_TRUE(change_word(word(0), {.kind = WordChange::Kind::kFetchAndAdd, .operand = 1}));
  }
  guest.join();
  EXPECT_EQ(value(0), 2 * kEach);
}

TEST_F(AtomicWordTest, FailedMemoryIsSaid) {
  const Extent at = word(0);
  ram_.truncate(0);
  EXPECT_FALSE(change_word(at, {.kind = WordChange::Kind::kFetchAndAdd, .operand = 1}));
}

}  // namespace
}  // namespace paravane
