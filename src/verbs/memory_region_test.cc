#include "verbs/memory_region.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "testing/test_memory.h"

namespace paravane::verbs {
namespace {

constexpr PdNumber kPd{3};
constexpr PdNumber kOtherPd{4};
constexpr AccessMask kLocal = kAccessLocalWrite;
constexpr std::uint64_t kStart = 0x7F12'3456'7123;  // in the middle of a page

class MemoryRegionTest : public testing::Test {
 protected:
  MemoryRegionTest() { ram_.show(memory_); }

  PageList pages(std::uint64_t count) {
    const TestPages made = ram_.scattered_pages(count);
    return *PageList::from_directory(memory_, made.directory, count, Rights::kReadWrite);
  }
  std::uint32_t add(std::uint64_t length, AccessMask access = kLocal) {
    const std::uint64_t count = (kStart % kPageBytes + length + kPageBytes - 1) / kPageBytes;
    return *table_.add_user(kPd, kStart, length, access, pages(count));
  }
  AccessVerdict resolve(std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                        AccessMask need = 0, PdNumber pd = kPd) {
    out_.clear();
    const AccessVerdict verdict = table_.resolve(pd, key, addr, length, need, out_);
    EXPECT_EQ(out_.total_bytes(), verdict == AccessVerdict::kOk ? length : 0);
    return verdict;
  }

  TestMemory ram_{16 << 20};
  GuestMemory memory_;
  MemoryRegionTable table_{memory_, 8};
  ExtentList out_;
};

TEST_F(MemoryRegionTest, KeyIsIndexAndLowByte) {
  const std::uint32_t first = add(100);
  const std::uint32_t second = add(100);
  EXPECT_GE(first, 0x100u);
  EXPECT_NE(first >> 8, second >> 8);
  EXPECT_NE(first & 0xFF, second & 0xFF);
  EXPECT_EQ(table_.count(), 2u);
}

TEST_F(MemoryRegionTest, C76OnlyTheRegisteredBytesAreReached) {
  const std::uint32_t key = add(5000);
  EXPECT_EQ(resolve(key, kStart, 5000), AccessVerdict::kOk);
  EXPECT_EQ(resolve(key, kStart + 4999, 1), AccessVerdict::kOk);
  EXPECT_EQ(resolve(key, kStart - 1, 1), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, kStart + 5000, 1), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, kStart, 5001), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, kStart + 1, 5000), AccessVerdict::kOutOfRange);
  // The same bytes by page offset: an iova that the guest never told us.
  EXPECT_EQ(resolve(key, kStart % kPageBytes, 1), AccessVerdict::kOutOfRange);
}

TEST_F(MemoryRegionTest, AddressesThatWrapAreOutOfRange) {
  const std::uint32_t key = add(5000);
  constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(resolve(key, kTop, 2), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, kStart + 1, kTop), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, kTop, kTop), AccessVerdict::kOutOfRange);
  EXPECT_EQ(table_.check(kPd, key, kTop, 2, 0), AccessVerdict::kOutOfRange);
  EXPECT_EQ(table_.check(kPd, key, kStart + 1, kTop, 0), AccessVerdict::kOutOfRange);
}

TEST_F(MemoryRegionTest, C63KeysAreJudged) {
  const std::uint32_t key = add(100);
  EXPECT_EQ(resolve(key ^ 1, kStart, 1), AccessVerdict::kBadKey);  // stale low byte
  EXPECT_EQ(resolve(key + 0x100, kStart, 1), AccessVerdict::kBadKey);
  EXPECT_EQ(resolve(0, kStart, 1), AccessVerdict::kBadKey);
  EXPECT_EQ(resolve(0xFFFF'FFFF, kStart, 1), AccessVerdict::kBadKey);
  EXPECT_EQ(resolve(key, kStart, 1, 0, kOtherPd), AccessVerdict::kBadKey);
}

TEST_F(MemoryRegionTest, C63RightsAreJudged) {
  const std::uint32_t none = add(100, 0);
  EXPECT_EQ(resolve(none, kStart, 1), AccessVerdict::kOk);  // a local read needs none
  EXPECT_EQ(resolve(none, kStart, 1, kAccessLocalWrite), AccessVerdict::kNoRight);
  const std::uint32_t readable = add(100, kLocal | kAccessRemoteRead);
  EXPECT_EQ(resolve(readable, kStart, 1, kAccessRemoteRead), AccessVerdict::kOk);
  EXPECT_EQ(resolve(readable, kStart, 1, kAccessRemoteWrite), AccessVerdict::kNoRight);
}

TEST_F(MemoryRegionTest, CheckJudgesAsResolveDoes) {
  const std::uint32_t key = add(100);
  EXPECT_EQ(table_.check(kPd, key, kStart, 100, kLocal), AccessVerdict::kOk);
  EXPECT_EQ(table_.check(kPd, key, kStart, 101, kLocal), AccessVerdict::kOutOfRange);
  EXPECT_EQ(table_.check(kPd, key, kStart, 1, kAccessRemoteRead), AccessVerdict::kNoRight);
  EXPECT_EQ(table_.check(kOtherPd, key, kStart, 1, 0), AccessVerdict::kBadKey);
}

TEST_F(MemoryRegionTest, DmaRegionNamesMemoryByGuestAddress) {
  const std::uint32_t key = *table_.add_dma(kPd, kLocal);
  const std::uint64_t base = TestMemory::kBase.value;
  EXPECT_EQ(resolve(key, base + 100, 10'000, kLocal), AccessVerdict::kOk);
  EXPECT_EQ(resolve(key, base + ram_.size() - 1, 2), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, 0, 1), AccessVerdict::kOutOfRange);
}

TEST_F(MemoryRegionTest, DmaRegionIsNeverOpenToPeers) {
  EXPECT_EQ(table_.add_dma(kPd, kLocal | kAccessRemoteRead).error().code, Errc::kInvalidArgument);
  const std::uint32_t key = *table_.add_dma(kPd, kLocal);
  EXPECT_EQ(resolve(key, TestMemory::kBase.value, 1, kAccessRemoteRead), AccessVerdict::kNoRight);
  EXPECT_EQ(resolve(key, TestMemory::kBase.value, 1, kAccessRemoteWrite), AccessVerdict::kNoRight);
}

// ---- Fast regions ----

TEST_F(MemoryRegionTest, C35FastRegionHasOneTableOfPages) {
  EXPECT_TRUE(table_.add_fast(kPd, 1));
  EXPECT_TRUE(table_.add_fast(kPd, 512));
  EXPECT_EQ(table_.add_fast(kPd, 0).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(table_.add_fast(kPd, 513).error().code, Errc::kInvalidArgument);
}

TEST_F(MemoryRegionTest, C73FastRegionLivesFromRegistrationToInvalidation) {
  const std::uint32_t first = *table_.add_fast(kPd, 2);
  EXPECT_EQ(resolve(first, kStart, 1), AccessVerdict::kBadKey);
  const std::uint32_t key = (first & ~0xFFu) | ((first + 1) & 0xFF);
  ASSERT_TRUE(table_.may_register(kPd, key, 2));
  ASSERT_TRUE(table_.register_fast({.key = key, .access = kLocal, .start = kStart, .length = 5000},
                                   pages(2)));
  EXPECT_EQ(resolve(key, kStart, 5000, kLocal), AccessVerdict::kOk);
  EXPECT_EQ(resolve(key, kStart, 5001), AccessVerdict::kOutOfRange);
  EXPECT_EQ(resolve(key, kStart, 1, kAccessRemoteRead), AccessVerdict::kNoRight);
  EXPECT_EQ(resolve(first, kStart, 1), AccessVerdict::kBadKey);  // the old low byte
  EXPECT_FALSE(table_.may_register(kPd, key + 1, 2)) << "it has memory";
  EXPECT_FALSE(table_.may_invalidate(kOtherPd, key));
  EXPECT_FALSE(table_.may_invalidate(kPd, first));
  ASSERT_TRUE(table_.may_invalidate(kPd, key));
  table_.invalidate(key);
  EXPECT_EQ(resolve(key, kStart, 1), AccessVerdict::kBadKey);
  EXPECT_FALSE(table_.may_invalidate(kPd, key)) << "twice";
  EXPECT_TRUE(table_.may_register(kPd, key, 1));
  EXPECT_TRUE(table_.remove(first));
}

TEST_F(MemoryRegionTest, FastRegistrationIsJudged) {
  const std::uint32_t fast = *table_.add_fast(kPd, 2);
  const std::uint32_t user = add(100);
  EXPECT_FALSE(table_.may_register(kPd, fast, 0));
  EXPECT_FALSE(table_.may_register(kPd, fast, 3));
  EXPECT_FALSE(table_.may_register(kOtherPd, fast, 2));
  EXPECT_FALSE(table_.may_register(kPd, user, 1));
  EXPECT_FALSE(table_.may_register(kPd, 0xFFFF'FF00, 1));
  EXPECT_FALSE(table_.may_invalidate(kPd, user)) << "only fast regions are invalidated";
  const auto registered = [&](std::uint64_t start, std::uint32_t length) {
    return table_.register_fast({.key = fast, .start = start, .length = length}, pages(2));
  };
  EXPECT_FALSE(registered(kStart, 0));
  EXPECT_FALSE(registered(kStart, 8192 - kStart % kPageBytes + 1));
  EXPECT_FALSE(registered(UINT64_MAX - 4095, 4096));
  EXPECT_TRUE(registered(kStart, 8192 - kStart % kPageBytes));
}

TEST_F(MemoryRegionTest, AbsentMemoryComesBack) {
  const std::uint32_t key = add(100);
  memory_.unmap(ram_.base(), ram_.size());
  EXPECT_EQ(resolve(key, kStart, 1), AccessVerdict::kAbsent);
  ram_.show(memory_);
  EXPECT_EQ(resolve(key, kStart, 1), AccessVerdict::kOk);
}

TEST_F(MemoryRegionTest, RemovedKeysAreGone) {
  const std::uint32_t key = add(100);
  EXPECT_TRUE(table_.any_in(kPd));
  ASSERT_TRUE(table_.remove(key));
  EXPECT_EQ(resolve(key, kStart, 1), AccessVerdict::kBadKey);
  EXPECT_EQ(table_.remove(key).error().code, Errc::kNotFound);
  EXPECT_FALSE(table_.any_in(kPd));
  EXPECT_EQ(table_.count(), 0u);
}

TEST_F(MemoryRegionTest, RemoveNeedsTheWholeKey) {
  const std::uint32_t key = add(100);
  EXPECT_FALSE(table_.remove(key ^ 0x80));
  EXPECT_FALSE(table_.remove(0));
  EXPECT_EQ(table_.count(), 1u);
}

TEST_F(MemoryRegionTest, C28IndicesAreReusedLate) {
  const std::uint32_t first = add(100);
  ASSERT_TRUE(table_.remove(first));
  std::set<std::uint32_t> indices;
  for (int i = 0; i < 7; ++i) indices.insert(add(100) >> 8);
  EXPECT_FALSE(indices.contains(first >> 8));
  EXPECT_EQ(add(100) >> 8, first >> 8);  // the last free one
  EXPECT_EQ(table_.add_dma(kPd, kLocal).error().code, Errc::kResourceExhausted);
}

TEST_F(MemoryRegionTest, PagesMustCoverTheRegion) {
  constexpr std::uint64_t kTwoPages = 2 * kPageBytes - kStart % kPageBytes;
  EXPECT_TRUE(table_.add_user(kPd, kStart, kTwoPages, kLocal, pages(2)));
  const auto too_long = table_.add_user(kPd, kStart, kTwoPages + 1, kLocal, pages(2));
  EXPECT_EQ(too_long.error().code, Errc::kInvalidArgument);
  EXPECT_FALSE(table_.add_user(kPd, kStart, 0, kLocal, pages(1)));
  EXPECT_FALSE(table_.add_user(kPd, ~std::uint64_t{0} - 10, 4096, kLocal, pages(2)));
  EXPECT_EQ(table_.count(), 1u);
}

}  // namespace
}  // namespace paravane::verbs
