// The order in which payload becomes visible.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/guest_memory.h"
#include "guestmem/payload.h"
#include "testing/test_memory.h"
#include "testing/wait_until.h"

namespace paravane {
namespace {

// A program that polls the last byte of its buffer, as perftest does.
class PayloadOrderTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  // A size whose copy is many stores shows a wrong order soonest.
  static int rounds() { return GetParam() == 1000 ? 600 : 50; }
};

TEST_P(PayloadOrderTest, WhoeverSeesTheLastByteSeesAllBytes) {
  const std::uint64_t size = GetParam();
  const int last = rounds();
  TestMemory ram(64 * kPageBytes);
  GuestMemory memory;
  ram.show(memory);
  const GuestAddr target{ram.allocate(32).value + 4096 - 5};  // unaligned, across a page
  ExtentList to;
  ASSERT_EQ(memory.resolve(target, size, Rights::kWrite, to), Reach::kOk);

  std::atomic<int> seen = 0;
  std::atomic<int> wrong = 0;
  std::jthread poller([&] {
    std::vector<std::byte> copy(size);
    for (int round = 1; round <= last; ++round) {
      const auto value = static_cast<std::byte>(round);
      wait_until([&] { return ram.load_byte({target.value + size - 1}) == value; });
      ram.read_bytes(target, copy);
      for (const std::byte byte : copy) wrong += byte != value;
      seen = round;
    }
  });
  std::vector<std::byte> from(size);
  for (int round = 1; round <= last; ++round) {
    std::ranges::fill(from, static_cast<std::byte>(round));
    ASSERT_TRUE(scatter_payload(from, to));
    wait_until([&] { return seen == round; });
  }
  poller.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PayloadOrderTest,
                         ::testing::Values(1, 2, 7, 8, 9, 63, 64, 65, 128, 1000, 4096, 65536),
                         ::testing::PrintToStringParamName());

// The same without waiting for the poller: what it reads after the last word is
// at least as new as that word.
class PayloadStreamTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kBytes = 64 << 20;  // in all
};

TEST_P(PayloadStreamTest, NoWordIsOlderThanTheLastOne) {
  const std::uint32_t words = GetParam() / sizeof(Le32);
  const std::uint32_t rounds = std::min(kBytes / GetParam(), 100'000u);
  TestMemory ram(64 * kPageBytes);
  GuestMemory memory;
  ram.show(memory);
  const GuestAddr target{ram.allocate(32).value + 4096 - 20};
  ExtentList to;
  ASSERT_EQ(memory.resolve(target, GetParam(), Rights::kWrite, to), Reach::kOk);

  std::uint64_t older = 0;
  std::latch polling(1);
  std::jthread poller([&] {
    std::vector<Le32> copy(words);
    polling.count_down();
    std::uint32_t last = 0;
    while (last < rounds) {
      last = ram.load({target.value + (words - 1) * sizeof(Le32)});
      ram.read_bytes(target, std::as_writable_bytes(std::span(copy)));
      older += static_cast<std::uint64_t>(
          std::ranges::count_if(copy, [&](Le32 word) { return word.get() < last; }));
    }
  });
  polling.wait();
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const std::vector<Le32> from(words, Le32(round));
    ASSERT_TRUE(scatter_payload(std::as_bytes(std::span(from)), to));
  }
  poller.join();
  EXPECT_EQ(older, 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PayloadStreamTest, ::testing::Values(8, 64, 68, 128, 1000, 65536),
                         ::testing::PrintToStringParamName());

#if defined(__x86_64__)

// What a signal handler can reach.
struct WatchedCopy {
  const std::byte* bytes = nullptr;
  std::uint64_t size = 0;
  std::byte after{};
  std::uint64_t steps = 0;
  std::uint64_t wrong_steps = 0;
};

// Looks at the destination after every single instruction of a copy: what the
// program order of the stores is, other cores of this architecture see.
class StepWatch {
 public:
  // `before` is what every byte of the destination is now, `after` what it will be.
  StepWatch(const std::byte* bytes, std::uint64_t size, std::byte after) {
    state = {.bytes = bytes, .size = size, .after = after};
    struct sigaction action{};
    action.sa_handler = look;
    sigaction(SIGTRAP, &action, &before_);
  }
  ~StepWatch() { sigaction(SIGTRAP, &before_, nullptr); }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  // The trap flag; the stack below its pointer may be in use.
  static void begin() {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
  }
  static void end() {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
  }
  static std::uint64_t steps() { return state.steps; }
  static std::uint64_t wrong_steps() { return state.wrong_steps; }

 private:
  // Once one of the last 64 bytes is new, all bytes before it are.
  static void look(int /*signal*/) {
    ++state.steps;
    std::uint64_t last_new = state.size;
    while (last_new > 0 && state.bytes[last_new - 1] != state.after) --last_new;
    if (state.size - last_new >= 64) return;
    for (std::uint64_t i = 0; i < last_new; ++i) {
      if (state.bytes[i] != state.after) {
        ++state.wrong_steps;
        return;
      }
    }
  }

  inline static WatchedCopy state;
  struct sigaction before_{};
};

class PayloadStepTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PayloadStepTest, LastLineIsStoredInAscendingOrderAfterTheRest) {
  const std::uint64_t size = GetParam();
  TestMemory ram(64 * kPageBytes);
  GuestMemory memory;
  ram.show(memory);
  const GuestAddr first = ram.allocate(32);
  const std::vector<std::byte> from(size, std::byte{0xEE});
  for (std::uint64_t shift = 0; shift < 9; ++shift) {
    const GuestAddr target{first.value + 2 * shift * kPageBytes - shift + 8};
    ExtentList to;
    ASSERT_EQ(memory.resolve(target, size, Rights::kWrite, to), Reach::kOk);
    const StepWatch watch(ram.at(target, size), size, std::byte{0xEE});
    StepWatch::begin();
    const bool copied = scatter_payload(from, to);
    StepWatch::end();
    EXPECT_TRUE(copied);
    EXPECT_GT(StepWatch::steps(), 10u);
    EXPECT_EQ(StepWatch::wrong_steps(), 0u);
    EXPECT_EQ(ram.read<std::byte>({target.value + size - 1}), std::byte{0xEE});
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PayloadStepTest,
                         ::testing::Values(1, 2, 3, 7, 8, 9, 63, 64, 65, 100, 128, 1000, 4000),
                         ::testing::PrintToStringParamName());

#endif  // x86-64

}  // namespace
}  // namespace paravane
