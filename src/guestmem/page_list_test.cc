#include "guestmem/page_list.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/payload.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 2048;

class PageListTest : public ::testing::Test {
 protected:
  void SetUp() override { ram_.show(memory_); }

  PageList list_of(const TestPages& pages, Rights need = Rights::kReadWrite) {
    Result<PageList> list = PageList::from_directory(memory_, pages.directory, pages.count(), need);
    EXPECT_TRUE(list.has_value());
    return list ? std::move(*list) : PageList();
  }
  static std::uint64_t word_at(PageList& list, std::uint64_t offset) {
    Le64 word;
    EXPECT_EQ(list.copy_in(offset, std::as_writable_bytes(std::span(&word, 1))), Reach::kOk);
    return word.get();
  }
  Reach touch(PageList& list, std::uint64_t offset) {
    std::byte byte{};
    return list.copy_in(offset, std::span(&byte, 1));
  }
  // Takes pages out of the DMA map, and shows them again.
  void hide(GuestAddr first, std::uint64_t pages) { memory_.unmap(first, pages * kPageBytes); }
  Status bring_back(GuestAddr first, std::uint64_t pages, Rights rights = Rights::kReadWrite) {
    return memory_.map(ram_.fd(), first.value - ram_.base().value, first, pages * kPageBytes,
                       rights);
  }

  TestMemory ram_{kPages * kPageBytes};
  GuestMemory memory_;
};

TEST_F(PageListTest, PagesInARowBecomeOneRun) {
  PageList list = list_of(ram_.contiguous_pages(600));
  EXPECT_EQ(list.run_count(), 1u);
  EXPECT_EQ(list.size_bytes(), 600 * kPageBytes);
}

TEST_F(PageListTest, ScatteredPagesKeepTheirOrder) {
  const TestPages pages = ram_.scattered_pages(600);
  for (std::uint64_t i = 0; i < 600; ++i) ram_.write(pages.pages[i], Le64(1000 + i));
  PageList list = list_of(pages);
  EXPECT_EQ(list.run_count(), 600u);
  for (const std::uint64_t i : {0u, 1u, 511u, 512u, 513u, 599u, 3u}) {
    EXPECT_EQ(word_at(list, i * kPageBytes), 1000u + i);
  }
}

TEST_F(PageListTest, GigabyteOfPagesIsTakenInAndMerged) {
  TestMemory giant((kMaxDirectoryPages + 1024) * kPageBytes, GuestAddr{std::uint64_t{1} << 32});
  ASSERT_TRUE(memory_.map(giant.fd(), 0, giant.base(), giant.size(), Rights::kReadWrite));
  giant.adopt_mapping_of(memory_);
  const TestPages pages = giant.contiguous_pages(kMaxDirectoryPages);
  giant.write(pages.pages.back(), Le64(9));
  PageList list = list_of(pages);
  EXPECT_EQ(list.size_bytes(), std::uint64_t{1} << 30);
  EXPECT_EQ(list.run_count(), 1u);
  EXPECT_EQ(word_at(list, list.size_bytes() - kPageBytes), 9u);
}

TEST_F(PageListTest, SlicesGiveTheSameList) {
  const TestPages pages = ram_.contiguous_pages(1200);
  Result<PageListBuilder> builder =
      PageListBuilder::start(memory_, pages.directory, 1200, Rights::kReadWrite);
  ASSERT_TRUE(builder);
  EXPECT_FALSE(builder->advance(0).value());
  EXPECT_FALSE(builder->advance(1).value());
  EXPECT_FALSE(builder->advance(1).value());
  EXPECT_TRUE(builder->advance(1).value());
  PageList list = builder->take();
  EXPECT_EQ(list.run_count(), 1u);
  EXPECT_EQ(list.size_bytes(), 1200 * kPageBytes);
}

TEST_F(PageListTest, PageThatGoesBetweenSlicesIsAbsent) {
  const TestPages pages = ram_.contiguous_pages(1024);
  Result<PageListBuilder> builder =
      PageListBuilder::start(memory_, pages.directory, 1024, Rights::kReadWrite);
  ASSERT_TRUE(builder->advance(1));
  hide(pages.pages[5], 1);
  ASSERT_TRUE(builder->advance(1).value());
  PageList list = builder->take();
  EXPECT_EQ(list.reach(), Reach::kAbsent);
  EXPECT_EQ(touch(list, 0), Reach::kAbsent);
  EXPECT_EQ(touch(list, 600 * kPageBytes), Reach::kOk);
}

TEST_F(PageListTest, CopiesStraddlePages) {
  const TestPages pages = ram_.scattered_pages(3);
  PageList list = list_of(pages);
  std::vector<std::byte> bytes(kPageBytes + 200, std::byte{0x5A});
  ASSERT_EQ(list.copy_out(kPageBytes - 100, bytes), Reach::kOk);
  EXPECT_EQ(ram_.read<std::uint8_t>(pages.at(kPageBytes - 101)), 0);
  EXPECT_EQ(ram_.read<std::uint8_t>(pages.at(kPageBytes - 100)), 0x5A);
  EXPECT_EQ(ram_.read<std::uint8_t>(pages.at(2 * kPageBytes + 99)), 0x5A);
  EXPECT_EQ(ram_.read<std::uint8_t>(pages.at(2 * kPageBytes + 100)), 0);

  std::vector<std::byte> copy(bytes.size());
  ASSERT_EQ(list.copy_in(kPageBytes - 100, copy), Reach::kOk);
  EXPECT_EQ(copy, bytes);
}

TEST_F(PageListTest, ResolveGivesTheExtentsInOrder) {
  PageList list = list_of(ram_.scattered_pages(4));
  ExtentList extents;
  ASSERT_EQ(list.resolve(kPageBytes - 1, kPageBytes + 2, Rights::kRead, extents), Reach::kOk);
  ASSERT_EQ(extents.extents().size(), 3u);
  EXPECT_EQ(extents.extents()[0].size(), 1u);
  EXPECT_EQ(extents.extents()[1].size(), kPageBytes);
  EXPECT_EQ(extents.extents()[2].size(), 1u);
  EXPECT_EQ(extents.total_bytes(), kPageBytes + 2);
}

TEST_F(PageListTest, ResolveBeyondTheEndIsOutsideAndDoesNotWrap) {
  PageList list = list_of(ram_.contiguous_pages(2));
  constexpr std::uint64_t kTop = ~std::uint64_t{0};
  ExtentList extents;
  EXPECT_EQ(list.resolve(2 * kPageBytes - 8, 8, Rights::kRead, extents), Reach::kOk);
  extents.clear();
  EXPECT_EQ(list.resolve(2 * kPageBytes - 8, 9, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(list.resolve(kTop, 1, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(list.resolve(8, kTop, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(list.resolve(kTop - 7, kTop, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(list.resolve(2 * kPageBytes, 0, Rights::kRead, extents), Reach::kOk);
  EXPECT_EQ(list.resolve(2 * kPageBytes + 1, 0, Rights::kRead, extents), Reach::kOutside);
  EXPECT_TRUE(extents.extents().empty());
  std::array<std::byte, 16> bytes{};
  EXPECT_EQ(list.copy_out(2 * kPageBytes - 8, bytes), Reach::kOutside);
  EXPECT_EQ(list.copy_in(kTop - 7, bytes), Reach::kOutside);
}

TEST_F(PageListTest, EmptyListHasNothing) {
  PageList list;
  std::byte byte{};
  EXPECT_EQ(list.size_bytes(), 0u);
  EXPECT_EQ(list.copy_in(0, std::span(&byte, 1)), Reach::kOutside);
  EXPECT_EQ(list.reach(), Reach::kOk);
}

TEST_F(PageListTest, RightsThatWereNotAskedForAreDenied) {
  PageList list = list_of(ram_.contiguous_pages(1), Rights::kRead);
  ExtentList extents;
  EXPECT_EQ(list.resolve(0, 8, Rights::kRead, extents), Reach::kOk);
  EXPECT_EQ(list.resolve(0, 8, Rights::kWrite, extents), Reach::kDenied);
  EXPECT_EQ(list.store_index(0, 1), Reach::kDenied);
}

TEST_F(PageListTest, IndicesAreWordsOfTheGuest) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  ram_.store(pages.at(kPageBytes + 8), 0x01020304);
  std::uint32_t index = 0;
  ASSERT_EQ(list.load_index(kPageBytes + 8, index), Reach::kOk);
  EXPECT_EQ(index, 0x01020304u);
  ASSERT_EQ(list.store_index(12, 0x0A0B0C0D), Reach::kOk);
  EXPECT_EQ(ram_.load(pages.at(12)), 0x0A0B0C0Du);
  EXPECT_EQ(list.load_index(2 * kPageBytes, index), Reach::kOutside);
  EXPECT_EQ(list.load_index(6, index), Reach::kOutside);
  EXPECT_EQ(list.store_index(6, 1), Reach::kOutside);
}

TEST_F(PageListTest, C09_NothingIsReachedWhileDmaIsOff) {
  PageList list = list_of(ram_.contiguous_pages(1));
  memory_.set_dma_enabled(false);
  std::uint32_t index = 0;
  EXPECT_EQ(list.load_index(0, index), Reach::kAbsent);
  EXPECT_EQ(list.store_index(0, 1), Reach::kAbsent);
  EXPECT_EQ(touch(list, 0), Reach::kAbsent);
  memory_.set_dma_enabled(true);
  EXPECT_EQ(touch(list, 0), Reach::kOk);
}

TEST_F(PageListTest, RunIsAbsentWhileItsRangeIsGoneAndGoodAgainAfterwards) {
  const TestPages pages = ram_.scattered_pages(3);
  PageList list = list_of(pages);
  ram_.write(pages.pages[1], Le64(42));
  hide(pages.pages[1], 1);
  EXPECT_EQ(touch(list, kPageBytes), Reach::kAbsent);
  EXPECT_EQ(touch(list, 0), Reach::kOk);  // the others work on
  EXPECT_EQ(list.reach(), Reach::kAbsent);
  ASSERT_TRUE(bring_back(pages.pages[1], 1));
  EXPECT_EQ(word_at(list, kPageBytes), 42u);
  EXPECT_EQ(list.reach(), Reach::kOk);
}

TEST_F(PageListTest, RemapOfAllRamInOtherPiecesKeepsEveryRun) {
  const TestPages pages = ram_.contiguous_pages(20);
  PageList list = list_of(pages);
  ram_.write(pages.pages[19], Le64(42));
  hide(ram_.base(), kPages);
  EXPECT_EQ(list.reach(), Reach::kAbsent);
  ASSERT_TRUE(bring_back(ram_.base(), 7));
  EXPECT_EQ(list.reach(), Reach::kAbsent);  // a run is there whole or not at all
  ASSERT_TRUE(bring_back(GuestAddr{ram_.base().value + 7 * kPageBytes}, kPages - 7));
  EXPECT_EQ(list.reach(), Reach::kOk);
  EXPECT_EQ(word_at(list, 19 * kPageBytes), 42u);
}

// A VMM that shows memory page by page makes no look at a run long.
TEST_F(PageListTest, OfARunInVeryManyRangesOnlyWhatIsUsedIsLookedAt) {
  const TestPages pages = ram_.contiguous_pages(200);
  PageList list = list_of(pages);
  hide(ram_.base(), kPages);
  for (const GuestAddr page : pages.pages) ASSERT_TRUE(bring_back(page, 1));
  EXPECT_EQ(list.reach(), Reach::kOk);
  hide(pages.pages[150], 1);
  EXPECT_EQ(touch(list, 0), Reach::kOk);
  EXPECT_EQ(touch(list, 149 * kPageBytes), Reach::kOk);
  EXPECT_EQ(touch(list, 150 * kPageBytes), Reach::kAbsent);
  EXPECT_EQ(list.reach(), Reach::kAbsent);
  std::array<std::byte, 16> bytes{};
  EXPECT_EQ(list.copy_out(150 * kPageBytes - 8, bytes), Reach::kAbsent);
  ASSERT_TRUE(bring_back(pages.pages[150], 1));
  EXPECT_EQ(touch(list, 150 * kPageBytes), Reach::kOk);
}

TEST_F(PageListTest, OtherMemoryAtTheSameAddressIsNotOurs) {
  const TestPages pages = ram_.contiguous_pages(1);
  PageList list = list_of(pages);
  hide(ram_.base(), kPages);
  const TestMemory stranger(kPages * kPageBytes);
  ASSERT_TRUE(memory_.map(stranger.fd(), 0, ram_.base(), stranger.size(), Rights::kReadWrite));
  EXPECT_EQ(touch(list, 0), Reach::kAbsent);
  memory_.unmap(ram_.base(), stranger.size());
  ASSERT_TRUE(bring_back(ram_.base(), kPages));
  EXPECT_EQ(touch(list, 0), Reach::kOk);
}

TEST_F(PageListTest, OtherPartOfTheSameFileIsNotOurs) {
  const TestPages pages = ram_.contiguous_pages(1);
  PageList list = list_of(pages);
  hide(ram_.base(), kPages);
  ASSERT_TRUE(memory_.map(ram_.fd(), kPageBytes, ram_.base(), (kPages - 1) * kPageBytes,
                          Rights::kReadWrite));
  EXPECT_EQ(touch(list, 0), Reach::kAbsent);
}

TEST_F(PageListTest, FewerRightsThanBeforeAreNotEnough) {
  const TestPages pages = ram_.contiguous_pages(1);
  PageList list = list_of(pages);
  hide(pages.pages[0], 1);
  ASSERT_TRUE(bring_back(pages.pages[0], 1, Rights::kRead));
  EXPECT_EQ(touch(list, 0), Reach::kAbsent);
}

TEST_F(PageListTest, ObjectOverAnAbsentPageIsNotWrittenAtAll) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  hide(pages.pages[1], 1);
  std::array<std::byte, 16> bytes;
  bytes.fill(std::byte{0xFF});
  EXPECT_EQ(list.copy_out(kPageBytes - 8, bytes), Reach::kAbsent);
  EXPECT_EQ(ram_.read<Le64>(pages.at(kPageBytes - 8)).get(), 0u);
}

TEST_F(PageListTest, FileStaysMappedWhileAListRemembersIt) {
  const TestPages pages = ram_.contiguous_pages(1);
  GuestMemory memory;
  memory.set_dma_enabled(true);
  ASSERT_TRUE(memory.map(ram_.fd(), 0, ram_.base(), ram_.size(), Rights::kReadWrite));
  {
    Result<PageList> list =
        PageList::from_directory(memory, pages.directory, 1, Rights::kReadWrite);
    ASSERT_TRUE(list);
    memory.unmap_all();
    memory.expire_files(Instant(std::chrono::hours(1)));
    memory.expire_files(Instant(std::chrono::hours(2)));
    EXPECT_EQ(memory.usage().files, 1u);
    EXPECT_EQ(list->reach(), Reach::kAbsent);
    ASSERT_TRUE(memory.map(ram_.fd(), 0, ram_.base(), ram_.size(), Rights::kReadWrite));
    EXPECT_EQ(list->reach(), Reach::kOk);
  }
  memory.unmap_all();
  EXPECT_EQ(memory.usage().files, 0u);
}

TEST_F(PageListTest, PagesOfTwoFilesMayBeInOneList) {
  TestMemory other(4 * kPageBytes, GuestAddr{ram_.base().value + ram_.size()});
  ASSERT_TRUE(memory_.map(other.fd(), 0, other.base(), other.size(), Rights::kReadWrite));
  other.adopt_mapping_of(memory_);
  const GuestAddr last{other.base().value - kPageBytes};  // adjacent, but another file
  const std::array<GuestAddr, 2> both{last, other.base()};
  const GuestAddr directory = ram_.make_directory(both);
  Result<PageList> list = PageList::from_directory(memory_, directory, 2, Rights::kReadWrite);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->run_count(), 2u);
  std::array<std::byte, 2> bytes{std::byte{1}, std::byte{2}};
  ASSERT_EQ(list->copy_out(kPageBytes - 1, bytes), Reach::kOk);
  EXPECT_EQ(ram_.read<std::uint8_t>(GuestAddr{other.base().value - 1}), 1);
  EXPECT_EQ(other.read<std::uint8_t>(other.base()), 2);
}

TEST_F(PageListTest, AdjacentRangesOfOneFileMergeToOneRun) {
  hide(ram_.base(), kPages);
  const TestPages pages = ram_.contiguous_pages(8);
  ASSERT_TRUE(bring_back(ram_.base(), 3));
  ASSERT_TRUE(bring_back(GuestAddr{ram_.base().value + 3 * kPageBytes}, kPages - 3));
  PageList list = list_of(pages);
  EXPECT_EQ(list.run_count(), 1u);
  EXPECT_EQ(list.reach(), Reach::kOk);
}

}  // namespace
}  // namespace paravane
