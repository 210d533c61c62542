#include "verbs/region_view.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/memory_failure.h"
#include "guestmem/payload.h"
#include "testing/test_memory.h"

namespace paravane::verbs {
namespace {

constexpr PdNumber kViewPd{3};
constexpr AccessMask kReadable = kAccessLocalWrite | kAccessRemoteRead;

class RegionViewTest : public testing::Test {
 protected:
  RegionViewTest() {
    EXPECT_TRUE(install_memory_failure_handler());
    ram_.show(memory_);
  }

  // `start` is where the program has it.
  std::uint32_t add(const TestPages& pages, std::uint64_t start, std::uint64_t length,
                    AccessMask access) {
    return *table_.add_user(
        kViewPd, start, length, access,
        *PageList::from_directory(memory_, pages.directory, pages.count(), Rights::kReadWrite));
  }
  // Whether the view and the table find the same memory, or none.
  void expect_alike(std::uint32_t key, std::uint64_t addr, std::uint64_t length, AccessMask need) {
    const auto expected = table_.find_extent(kViewPd, key, addr, length, need);
    const auto found = view_.find_extent(table_, kViewPd, key, addr, length, need);
    ASSERT_EQ(found.has_value(), expected.has_value())
        << "key " << key << " addr " << addr << " length " << length << " need " << need;
    if (!found) return;
    ASSERT_EQ(found->size(), length);
    EXPECT_EQ(bytes_of(*found), bytes_of(*expected));
  }
  static std::vector<std::byte> bytes_of(const Extent& extent) {
    ExtentList list;
    list.append(extent, 0, extent.size());
    std::vector<std::byte> bytes(extent.size());
    EXPECT_TRUE(gather_payload(list, bytes));
    return bytes;
  }
  bool finds(std::uint32_t key, std::uint64_t addr, std::uint64_t length, AccessMask need = 0) {
    return view_.find_extent(table_, kViewPd, key, addr, length, need).has_value();
  }

  TestMemory ram_{16 << 20};
  GuestMemory memory_;
  MemoryRegionTable table_{memory_, 8};
  RegionView view_;
};

TEST_F(RegionViewTest, EndsWithTheRegionAndNotWithItsPages) {
  const std::uint32_t key = add(ram_.contiguous_pages(3), 0x10'0800, 5000, kReadable);
  for (const std::uint64_t first : {0u, 2000u, 4999u}) {
    EXPECT_TRUE(finds(key, 0x10'0800 + first, 1));
    EXPECT_TRUE(finds(key, 0x10'0800, 5000));
    EXPECT_FALSE(finds(key, 0x10'0800 - 1, 1));
    EXPECT_FALSE(finds(key, 0x10'0800, 5001));
    EXPECT_FALSE(finds(key, 0x10'0800 + 5000, 1));
    EXPECT_FALSE(finds(key, 0x10'0800 + 4999, 2));
  }
}

TEST_F(RegionViewTest, OtherRightOrKeyIsJudgedAnew) {
  const std::uint32_t key = add(ram_.contiguous_pages(1), 0x10'0000, 4096, kReadable);
  const std::uint32_t other = add(ram_.contiguous_pages(1), 0x20'0000, 4096, kReadable);
  for (unsigned i = 0; i < 2; ++i) EXPECT_TRUE(finds(key, 0x10'0000, 64, kAccessRemoteRead));
  EXPECT_FALSE(finds(key ^ 1, 0x10'0000, 64, kAccessRemoteRead));
  for (unsigned i = 0; i < 2; ++i) EXPECT_TRUE(finds(key, 0x10'0000, 64, kAccessRemoteRead));
  EXPECT_FALSE(finds(key, 0x10'0000, 64, kAccessRemoteWrite));
  EXPECT_FALSE(finds(key ^ 1, 0x10'0000, 64, kAccessRemoteRead));
  EXPECT_FALSE(finds(other, 0x10'0000, 64, kAccessRemoteRead));
  EXPECT_TRUE(finds(other, 0x20'0000, 64, kAccessRemoteRead));
}

TEST_F(RegionViewTest, FailedMemoryIsNotFound) {
  const std::uint32_t key = add(ram_.contiguous_pages(1), 0x10'0000, 4096, kReadable);
  const auto found = view_.find_extent(table_, kViewPd, key, 0x10'0000, 64, 0);
  ASSERT_TRUE(found.has_value());
  ram_.truncate(0);
  std::array<std::byte, 64> bytes{};
  EXPECT_FALSE(scatter_payload(bytes, *found));
  EXPECT_FALSE(finds(key, 0x10'0000, 64));
}

TEST_F(RegionViewTest, ForgottenPieceIsSearchedAgain) {
  const std::uint32_t key = add(ram_.contiguous_pages(1), 0x10'0000, 4096, kReadable);
  EXPECT_TRUE(finds(key, 0x10'0000, 64));
  ASSERT_TRUE(table_.remove(key));
  view_.forget();
  EXPECT_FALSE(finds(key, 0x10'0000, 64));
}

TEST_F(RegionViewTest, RandomAccessesFindWhatTheTableFinds) {
  std::mt19937 random(7);
  const auto pick = [&](std::uint64_t count) { return random() % count; };
  struct Placed {
    std::uint32_t key;
    std::uint64_t start;
    std::uint64_t length;
  };
  std::vector<Placed> regions;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t start = 0x10'0000 * (i + 1) + i * 777;
    const TestPages pages = i % 2 == 0 ? ram_.contiguous_pages(5) : ram_.scattered_pages(5);
    const AccessMask access = i < 2 ? kReadable : AccessMask{kAccessKnown};
    regions.push_back({add(pages, start, 15'000, access), start, 15'000});
  }
  regions.push_back({*table_.add_dma(kViewPd, kAccessLocalWrite), TestMemory::kBase.value, 9000});
  // Their page lists have been copied.
  for (std::uint64_t addr = 0; addr < ram_.size(); addr += 4) {
    ram_.write(GuestAddr{TestMemory::kBase.value + addr}, Le32(static_cast<std::uint32_t>(addr)));
  }
  Placed region = regions.front();
  AccessMask need = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    if (pick(8) == 0) region = regions[pick(regions.size())];
    if (pick(8) == 0) need = AccessMask{1} << pick(5) >> 1;
    const std::uint64_t length = 1 + pick(pick(4) == 0 ? 6000 : 100);
    const std::uint64_t addr = region.start + pick(region.length + 40) - 20;
    expect_alike(region.key ^ (pick(50) == 0 ? 1 : 0), addr, length, need);
  }
}

}  // namespace
}  // namespace paravane::verbs
