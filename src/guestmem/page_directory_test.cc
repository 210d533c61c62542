// Page directories as a hostile guest builds them.

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/page_list.h"
#include "guestmem/ring_consumer.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 2048;
constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

class PageDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override { ram_.show(memory_); }

  Result<PageList> take_in(GuestAddr directory, std::uint64_t pages,
                           Rights need = Rights::kReadWrite) {
    return PageList::from_directory(memory_, directory, pages, need);
  }
  Errc refusal(GuestAddr directory, std::uint64_t pages) {
    const Result<PageList> list = take_in(directory, pages);
    EXPECT_FALSE(list.has_value());
    return list ? Errc::kNotFound : list.error().code;
  }
  // A directory of one page, at `address`, with good pages before it.
  GuestAddr directory_with(std::uint64_t address, std::uint64_t good_pages_before = 3) {
    std::vector<GuestAddr> pages = ram_.contiguous_pages(good_pages_before).pages;
    pages.push_back(GuestAddr{address});
    return ram_.make_directory(pages);
  }
  GuestAddr table_of(GuestAddr directory, std::uint64_t number = 0) const {
    return {ram_.read<Le64>(GuestAddr{directory.value + 8 * number}).get()};
  }
  GuestAddr end_of_ram() const { return {ram_.base().value + ram_.size()}; }

  TestMemory ram_{kPages * kPageBytes};
  GuestMemory memory_;
};

TEST_F(PageDirectoryTest, NoPagesAndTooManyPagesAreRefused) {
  const TestPages pages = ram_.contiguous_pages(1);
  EXPECT_EQ(refusal(pages.directory, 0), Errc::kOutOfRange);
  EXPECT_EQ(refusal(pages.directory, kMaxDirectoryPages + 1), Errc::kOutOfRange);
}

TEST_F(PageDirectoryTest, DirectoryMustBeAPageOfTheGuest) {
  const TestPages pages = ram_.contiguous_pages(600);
  // There is a good table at this address; it is no page all the same.
  EXPECT_EQ(refusal(GuestAddr{pages.directory.value + 8}, 1), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(end_of_ram(), 1), Errc::kOutOfRange);
  EXPECT_EQ(refusal(GuestAddr{0}, 1), Errc::kOutOfRange);
  EXPECT_EQ(refusal(GuestAddr{kTop - kPageBytes + 1}, 1), Errc::kOutOfRange);
}

TEST_F(PageDirectoryTest, BadTableAddressesAreRefused) {
  const TestPages pages = ram_.contiguous_pages(1);
  const std::uint64_t good = table_of(pages.directory).value;
  ASSERT_TRUE(take_in(pages.directory, 1));
  for (const std::uint64_t bad : {std::uint64_t{0}, good + 8, good + 1, kTop}) {
    ram_.write(pages.directory, Le64(bad));
    EXPECT_EQ(refusal(pages.directory, 1), Errc::kInvalidArgument) << bad;
  }
  for (const std::uint64_t bad : {end_of_ram().value, kTop - kPageBytes + 1}) {
    ram_.write(pages.directory, Le64(bad));
    EXPECT_EQ(refusal(pages.directory, 1), Errc::kOutOfRange) << bad;
  }
}

TEST_F(PageDirectoryTest, BadPageAddressesAreRefused) {
  const std::uint64_t good = ram_.allocate().value;
  EXPECT_TRUE(take_in(directory_with(good), 4));
  EXPECT_EQ(refusal(directory_with(good + 1), 4), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(directory_with(good + 2048), 4), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(directory_with(kTop), 4), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(directory_with(kTop - kPageBytes + 1), 4), Errc::kOutOfRange);
  EXPECT_EQ(refusal(directory_with(end_of_ram().value), 4), Errc::kOutOfRange);
  EXPECT_EQ(refusal(directory_with(ram_.base().value - kPageBytes), 4), Errc::kOutOfRange);
  EXPECT_EQ(refusal(directory_with(0), 4), Errc::kOutOfRange);
}

TEST_F(PageDirectoryTest, LastPageOfRamIsGood) {
  const std::uint64_t last = end_of_ram().value - kPageBytes;
  EXPECT_TRUE(take_in(directory_with(last), 4));
}

TEST_F(PageDirectoryTest, UnmappedPageInTheMiddleIsRefused) {
  const TestPages pages = ram_.contiguous_pages(700);
  ASSERT_TRUE(take_in(pages.directory, 700));
  memory_.unmap(pages.pages[600], kPageBytes);
  EXPECT_EQ(refusal(pages.directory, 700), Errc::kOutOfRange);
  EXPECT_TRUE(take_in(pages.directory, 600));
}

TEST_F(PageDirectoryTest, PageThatIsOnlyHalfMappedIsRefused) {
  const TestPages pages = ram_.contiguous_pages(2);
  // Only a hostile VMM unmaps half a page.
  memory_.unmap(GuestAddr{pages.pages[1].value + 2048}, 2048);
  EXPECT_EQ(refusal(pages.directory, 2), Errc::kOutOfRange);
}

TEST_F(PageDirectoryTest, MissingRightsAreRefused) {
  const TestPages pages = ram_.contiguous_pages(2);
  memory_.unmap(pages.pages[1], kPageBytes);
  ASSERT_TRUE(memory_.map(ram_.fd(), pages.pages[1].value - ram_.base().value, pages.pages[1],
                          kPageBytes, Rights::kRead));
  EXPECT_EQ(refusal(pages.directory, 2), Errc::kInvalidArgument);
  EXPECT_TRUE(take_in(pages.directory, 2, Rights::kRead));
}

TEST_F(PageDirectoryTest, PageInARangeWithoutAFileIsRefused) {
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, end_of_ram(), kPageBytes, Rights::kReadWrite));
  EXPECT_EQ(refusal(directory_with(end_of_ram().value), 4), Errc::kInvalidArgument);
}

TEST_F(PageDirectoryTest, NothingIsTakenInWhileDmaIsOff) {
  const TestPages pages = ram_.contiguous_pages(2);
  memory_.set_dma_enabled(false);
  EXPECT_EQ(refusal(pages.directory, 2), Errc::kBadState);
}

TEST_F(PageDirectoryTest, GuestThatRewritesItsTablesLaterChangesNothing) {
  const TestPages pages = ram_.contiguous_pages(2);
  Result<PageList> list = take_in(pages.directory, 2);
  ASSERT_TRUE(list);
  ram_.write(table_of(pages.directory), Le64(end_of_ram().value));
  ram_.write(pages.directory, Le64(kTop));
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(list->copy_out(0, bytes), Reach::kOk);
}

TEST_F(PageDirectoryTest, DirectoryIsCopiedOnceEvenWhenTakenInInSlices) {
  const TestPages pages = ram_.contiguous_pages(1024);
  Result<PageListBuilder> builder =
      PageListBuilder::start(memory_, pages.directory, 1024, Rights::kReadWrite);
  ASSERT_TRUE(builder);
  ASSERT_TRUE(builder->advance(1));
  ram_.write(GuestAddr{pages.directory.value + 8}, Le64(kTop));  // the table to come
  EXPECT_TRUE(builder->advance(1).value());
}

// CVE-2021-3582: the host mapped as many pages as the guest listed over a window
// of the length that the guest gave elsewhere.
TEST_F(PageDirectoryTest, Cve2021_3582_SizeComesFromThePagesThatWereChecked) {
  const TestPages pages = ram_.scattered_pages(600);
  Result<PageList> list = take_in(pages.directory, 2);  // the directory names 600
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size_bytes(), 2 * kPageBytes);
  ExtentList extents;
  EXPECT_EQ(list->resolve(2 * kPageBytes, 1, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(list->resolve(0, 600 * kPageBytes, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(list->resolve(0, std::uint64_t{1} << 32, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(extents.total_bytes(), 0u);
}

// CVE-2021-3607: page counts of a ring went unchecked into an allocation and its
// size into 32-bit arithmetic.
TEST_F(PageDirectoryTest, Cve2021_3607_PageCountsThatOverflowAreRefused) {
  const TestPages pages = ram_.contiguous_pages(4);
  for (const std::uint64_t count :
       {std::uint64_t{0}, kMaxDirectoryPages + 1, std::uint64_t{0xFFFFFFFF}, std::uint64_t{1} << 32,
        (std::uint64_t{1} << 52) + 4, kTop}) {
    EXPECT_EQ(refusal(pages.directory, count), Errc::kOutOfRange) << count;
  }
}

TEST(RingLayout, Cve2021_3607_ElementsThatOverflowDoNotFit) {
  const std::uint64_t bytes = 4 * kPageBytes;
  const auto fits = [&](std::uint64_t at, std::uint32_t stride, std::uint32_t n) {
    return RingLayout{.elements_at = at, .element_bytes = stride, .elements = n}.fits(bytes);
  };
  EXPECT_TRUE(fits(kPageBytes, 64, 192));
  EXPECT_FALSE(fits(kPageBytes, 64, 193));
  EXPECT_FALSE(fits(kPageBytes, 64, 0));
  EXPECT_FALSE(fits(kPageBytes, 64, 1u << 26));        // 2^32 bytes
  EXPECT_FALSE(fits(kPageBytes, 1u << 31, 1u << 31));  // 2^62 bytes
  EXPECT_FALSE(fits(kTop - 63, 64, 1));
  EXPECT_FALSE(fits(bytes + 1, 0, 1));
}

// CVE-2023-1544: a count larger than one table made the host read page addresses
// from beyond that table's page.
TEST_F(PageDirectoryTest, Cve2023_1544_EntriesBeyondATableAreNeverRead) {
  const TestPages pages = ram_.contiguous_pages(513);
  const GuestAddr second_table = ram_.allocate();
  ram_.write(second_table, Le64(pages.pages[512].value));
  ram_.write(GuestAddr{pages.directory.value + 8}, Le64(second_table.value));
  // What follows the first table's page would be a page address that we refuse.
  ram_.write(GuestAddr{table_of(pages.directory).value + kPageBytes}, Le64(kTop));
  EXPECT_TRUE(take_in(pages.directory, 513));

  ram_.write(GuestAddr{pages.directory.value + 8}, Le64(0));  // no second table
  EXPECT_EQ(refusal(pages.directory, 513), Errc::kInvalidArgument);
  EXPECT_TRUE(take_in(pages.directory, 512));
}

}  // namespace
}  // namespace paravane
