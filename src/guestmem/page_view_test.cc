#include "guestmem/page_view.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/memory_failure.h"
#include "guestmem/page_list.h"
#include "guestmem/payload.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 512;
constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kEdge = kPageBytes;  // between two pieces of a list of scattered pages

using Bytes = std::vector<std::byte>;

class PageViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(install_memory_failure_handler());
    ram_.show(memory_);
  }

  PageList list_of(const TestPages& pages, Rights need = Rights::kReadWrite) {
    Result<PageList> list = PageList::from_directory(memory_, pages.directory, pages.count(), need);
    EXPECT_TRUE(list.has_value());
    return list ? std::move(*list) : PageList();
  }
  void hide(const TestPages& pages, std::uint64_t page) {
    memory_.unmap(pages.pages.at(page), kPageBytes);
  }
  // Maps a page of `file` from `file_offset` where the page of the list was.
  Status map_there(const TestPages& pages, std::uint64_t page, const TestMemory& file,
                   std::uint64_t file_offset, Rights rights = Rights::kReadWrite) {
    return memory_.map(file.fd(), file_offset, pages.pages.at(page), kPageBytes, rights);
  }
  std::uint64_t file_offset_of(const TestPages& pages, std::uint64_t page) const {
    return pages.pages.at(page).value - ram_.base().value;
  }

  // What the guest has in the bytes [offset, offset+size) of the object.
  Bytes guest_bytes(const TestPages& pages, std::uint64_t offset, std::uint64_t size) const {
    Bytes bytes(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      bytes[i] = ram_.read<std::byte>(pages.at(offset + i));
    }
    return bytes;
  }
  // Bytes that differ from their neighbours and between pages.
  static Bytes pattern(std::uint64_t size, std::uint64_t seed = 1) {
    Bytes bytes(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<std::byte>((seed + i * 7 + i / 251) & 0xFF);
    }
    return bytes;
  }
  void fill(const TestPages& pages) {
    for (std::uint64_t page = 0; page < pages.count(); ++page) {
      ram_.write_bytes(pages.pages[page], pattern(kPageBytes, 50 * page + 1));
    }
  }
  static Bytes gathered(const ExtentList& extents) {
    Bytes bytes(extents.total_bytes());
    EXPECT_TRUE(gather_payload(extents, bytes));
    return bytes;
  }

  // What one side writes into the first page, the other side reads. The view remembers the piece.
  void expect_shared(PageView& view, const TestPages& pages) {
    const Le64 written(++serial_);
    Le64 copy;
    ram_.write(pages.at(8), written);
    EXPECT_EQ(view.copy_in(8, std::as_writable_bytes(std::span(&copy, 1))), Reach::kOk);
    EXPECT_EQ(copy.get(), serial_);
    EXPECT_EQ(view.copy_out(16, std::as_bytes(std::span(&written, 1))), Reach::kOk);
    EXPECT_EQ(ram_.read<Le64>(pages.at(16)).get(), serial_);
  }
  // Every access to the first page says `reach`, and changes nothing.
  void expect_refusal(PageView& view, const TestPages& pages, Reach reach) {
    const Bytes before = guest_bytes(pages, 0, kPageBytes);
    std::array<std::byte, 64> bytes;
    bytes.fill(std::byte{0xEE});
    std::uint32_t index = 77;
    ExtentList extents;
    EXPECT_EQ(view.copy_in(0, bytes), reach);
    EXPECT_EQ(view.copy_out(0, bytes), reach);
    EXPECT_EQ(view.load_index(0, index), reach);
    EXPECT_EQ(index, 77u);
    EXPECT_EQ(view.store_index(0, 1), reach);
    EXPECT_EQ(view.prefetch(0, 64, Rights::kRead), reach);
    EXPECT_EQ(view.prefetch(0, 64, Rights::kWrite), reach);
    EXPECT_EQ(view.resolve(0, 64, Rights::kRead, extents), reach);
    EXPECT_EQ(view.resolve(0, 64, Rights::kWrite, extents), reach);
    EXPECT_TRUE(extents.extents().empty());
    EXPECT_FALSE(view.extent(0, 64, Rights::kRead));
    EXPECT_FALSE(view.extent(0, 64, Rights::kWrite));
    EXPECT_EQ(guest_bytes(pages, 0, kPageBytes), before);
  }

  TestMemory ram_{kPages * kPageBytes};
  GuestMemory memory_;
  std::uint64_t serial_ = 0;
};

// ---- Within one piece, and across two ----

TEST_F(PageViewTest, CopiesWithinThePieceMoveTheBytesOfTheList) {
  const TestPages pages = ram_.scattered_pages(3);
  fill(pages);
  PageList list = list_of(pages);
  PageView view(list);
  for (const std::uint64_t offset : {kEdge, kEdge + 1, kEdge + 1000, 2 * kEdge - 72}) {
    Bytes copy(72);
    ASSERT_EQ(view.copy_in(offset, copy), Reach::kOk);
    EXPECT_EQ(copy, guest_bytes(pages, offset, copy.size())) << offset;
    const Bytes sent = pattern(72, offset);
    ASSERT_EQ(view.copy_out(offset, sent), Reach::kOk);
    EXPECT_EQ(guest_bytes(pages, offset, sent.size()), sent) << offset;
  }
}

TEST_F(PageViewTest, CopiesAcrossTwoPiecesMoveTheBytesOfTheList) {
  const TestPages pages = ram_.scattered_pages(3);
  fill(pages);
  PageList list = list_of(pages);
  PageView view(list);
  for (const std::uint64_t remembered : {std::uint64_t{0}, kEdge}) {
    Bytes first(8);
    ASSERT_EQ(view.copy_in(remembered, first), Reach::kOk);
    for (const std::uint64_t before : {1u, 8u, 71u}) {
      Bytes copy(72);
      ASSERT_EQ(view.copy_in(kEdge - before, copy), Reach::kOk);
      EXPECT_EQ(copy, guest_bytes(pages, kEdge - before, copy.size())) << before;
    }
  }
  const Bytes sent = pattern(kPageBytes + 200, 99);
  ASSERT_EQ(view.copy_out(kEdge - 100, sent), Reach::kOk);
  EXPECT_EQ(guest_bytes(pages, kEdge - 100, sent.size()), sent);
}

TEST_F(PageViewTest, CopyAcrossToAnAbsentPageWritesNothing) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  hide(pages, 1);
  expect_shared(view, pages);
  EXPECT_EQ(view.copy_out(kEdge - 8, pattern(16)), Reach::kAbsent);
  EXPECT_EQ(ram_.read<Le64>(pages.at(kEdge - 8)).get(), 0u);
}

TEST_F(PageViewTest, EachPieceIsFoundInAnyOrder) {
  const TestPages pages = ram_.scattered_pages(8);
  fill(pages);
  PageList list = list_of(pages);
  PageView view(list);
  for (const std::uint64_t page : {0u, 7u, 0u, 3u, 4u, 2u, 7u, 1u}) {
    Bytes copy(64);
    ASSERT_EQ(view.copy_in(page * kPageBytes + 128, copy), Reach::kOk);
    EXPECT_EQ(copy, guest_bytes(pages, page * kPageBytes + 128, copy.size())) << page;
  }
}

TEST_F(PageViewTest, IndicesAreWordsOfTheGuest) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  for (const std::uint64_t offset : {std::uint64_t{0}, kEdge - 4, kEdge, 2 * kEdge - 4}) {
    ram_.store(pages.at(offset), 0x01020304);
    std::uint32_t index = 0;
    ASSERT_EQ(view.load_index(offset, index), Reach::kOk);
    EXPECT_EQ(index, 0x01020304u);
    ASSERT_EQ(view.store_index(offset, 0x0A0B0C0D), Reach::kOk);
    EXPECT_EQ(ram_.load(pages.at(offset)), 0x0A0B0C0Du);
  }
}

TEST_F(PageViewTest, ExtentsWithinThePieceAreTheBytesOfTheList) {
  const TestPages pages = ram_.scattered_pages(2);
  fill(pages);
  PageList list = list_of(pages);
  PageView view(list);
  for (const std::uint64_t offset : {std::uint64_t{40}, kEdge - 100, kEdge, 2 * kEdge - 100}) {
    ExtentList extents;
    ASSERT_EQ(view.resolve(offset, 100, Rights::kRead, extents), Reach::kOk);
    EXPECT_EQ(extents.extents().size(), 1u);
    EXPECT_EQ(gathered(extents), guest_bytes(pages, offset, 100)) << offset;
    const std::optional<Extent> extent = view.extent(offset, 100, Rights::kReadWrite);
    ASSERT_TRUE(extent);
    ASSERT_EQ(extent->size(), 100u);
    const Bytes sent = pattern(100, offset);
    ASSERT_TRUE(scatter_payload(sent, *extent));
    EXPECT_EQ(guest_bytes(pages, offset, 100), sent) << offset;
  }
}

TEST_F(PageViewTest, BytesInTwoPiecesAreTwoExtentsAndNeverOne) {
  const TestPages pages = ram_.scattered_pages(2);
  fill(pages);
  PageList list = list_of(pages);
  PageView view(list);
  for (int turn = 0; turn < 2; ++turn) {
    ExtentList extents;
    EXPECT_FALSE(view.extent(kEdge - 30, 100, Rights::kRead));
    ASSERT_EQ(view.resolve(kEdge - 30, 100, Rights::kRead, extents), Reach::kOk);
    ASSERT_EQ(extents.extents().size(), 2u);
    EXPECT_EQ(extents.extents()[0].size(), 30u);
    EXPECT_EQ(gathered(extents), guest_bytes(pages, kEdge - 30, 100));
    EXPECT_TRUE(view.extent(0, kPageBytes, Rights::kRead));  // now a piece is remembered
  }
}

// ---- What is not used any more ----

TEST_F(PageViewTest, RememberedPieceIsNotUsedAfterItsRangeIsUnmapped) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  hide(pages, 0);
  expect_refusal(view, pages, Reach::kAbsent);
  ASSERT_TRUE(map_there(pages, 0, ram_, file_offset_of(pages, 0)));
  expect_shared(view, pages);
}

TEST_F(PageViewTest, RememberedPieceIsNotUsedAfterAnotherFileIsMappedThere) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  hide(pages, 0);
  const TestMemory other(kPages * kPageBytes);
  ASSERT_TRUE(map_there(pages, 0, other, 0));
  expect_refusal(view, pages, Reach::kAbsent);
  EXPECT_EQ(other.read<Le64>(other.base()).get(), 0u);
}

TEST_F(PageViewTest, RememberedPieceIsNotUsedAfterAnotherPartOfTheFileIsMappedThere) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  hide(pages, 0);
  ASSERT_TRUE(map_there(pages, 0, ram_, 100 * kPageBytes));
  expect_refusal(view, pages, Reach::kAbsent);
  EXPECT_EQ(ram_.read<Le64>({ram_.base().value + 100 * kPageBytes}).get(), 0u);
}

TEST_F(PageViewTest, RememberedPieceIsNotUsedAfterItsRangeHasFewerRights) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  hide(pages, 0);
  ASSERT_TRUE(map_there(pages, 0, ram_, file_offset_of(pages, 0), Rights::kRead));
  expect_refusal(view, pages, Reach::kAbsent);
}

TEST_F(PageViewTest, RememberedPieceIsNotUsedWhileDmaIsOff) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  for (int turn = 0; turn < 2; ++turn) {
    expect_shared(view, pages);
    memory_.set_dma_enabled(false);
    expect_refusal(view, pages, Reach::kAbsent);
    memory_.set_dma_enabled(true);
  }
  expect_shared(view, pages);
}

TEST_F(PageViewTest, RememberedPieceIsNotUsedAfterTheListsEnd) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  memory_.end_lists();
  expect_refusal(view, pages, Reach::kAbsent);
  memory_.set_dma_enabled(false);
  memory_.set_dma_enabled(true);
  expect_refusal(view, pages, Reach::kAbsent);
}

TEST_F(PageViewTest, OtherChangesOfTheMapLeaveThePieceAsItIs) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  hide(pages, 1);
  expect_shared(view, pages);
  ASSERT_TRUE(map_there(pages, 1, ram_, file_offset_of(pages, 1)));
  expect_shared(view, pages);
}

TEST_F(PageViewTest, FileThatGrowsIsFollowedToItsNewPlace) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  ram_.truncate((kPages + 1) * kPageBytes);
  ASSERT_TRUE(memory_.map(ram_.fd(), kPages * kPageBytes, {ram_.base().value + ram_.size()},
                          kPageBytes, Rights::kReadWrite));
  ram_.adopt_mapping_of(memory_);
  expect_shared(view, pages);
}

// A run in so many ranges is never looked at as a whole, so it is not remembered.
TEST_F(PageViewTest, OfARunInVeryManyRangesOnlyWhatIsMappedIsUsed) {
  const TestPages pages = ram_.contiguous_pages(200);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  memory_.unmap(ram_.base(), ram_.size());
  for (std::uint64_t page = 0; page < pages.count(); ++page) {
    ASSERT_TRUE(map_there(pages, page, ram_, file_offset_of(pages, page)));
  }
  hide(pages, 150);
  Bytes copy(16);
  expect_shared(view, pages);
  EXPECT_EQ(view.copy_in(149 * kPageBytes, copy), Reach::kOk);
  EXPECT_EQ(view.copy_in(150 * kPageBytes, copy), Reach::kAbsent);
  EXPECT_EQ(view.copy_in(150 * kPageBytes - 8, copy), Reach::kAbsent);
  EXPECT_FALSE(view.extent(150 * kPageBytes, 16, Rights::kRead));
  // In one range again, it is one piece again.
  memory_.unmap(ram_.base(), ram_.size());
  EXPECT_EQ(view.copy_in(149 * kPageBytes, copy), Reach::kAbsent);
  ram_.show(memory_);
  expect_shared(view, pages);
  EXPECT_TRUE(view.extent(150 * kPageBytes, 16, Rights::kRead));
}

// ---- Rights, places and sizes ----

TEST_F(PageViewTest, ListForReadingIsNotWrittenEvenWhenItsPieceIsRemembered) {
  const TestPages pages = ram_.scattered_pages(2);
  fill(pages);
  const Bytes before = guest_bytes(pages, 0, 2 * kPageBytes);
  PageList list = list_of(pages, Rights::kRead);
  PageView view(list);
  for (int turn = 0; turn < 2; ++turn) {
    ExtentList extents;
    EXPECT_EQ(view.copy_out(0, pattern(64, 99)), Reach::kDenied);
    EXPECT_EQ(view.store_index(0, 1), Reach::kDenied);
    EXPECT_EQ(view.prefetch(0, 64, Rights::kWrite), Reach::kDenied);
    EXPECT_EQ(view.resolve(0, 64, Rights::kWrite, extents), Reach::kDenied);
    EXPECT_TRUE(extents.extents().empty());
    EXPECT_FALSE(view.extent(0, 64, Rights::kWrite));
    EXPECT_FALSE(view.extent(0, 64, Rights::kReadWrite));
    EXPECT_TRUE(view.extent(0, 64, Rights::kRead));  // now its piece is remembered
  }
  EXPECT_EQ(guest_bytes(pages, 0, 2 * kPageBytes), before);
}

TEST_F(PageViewTest, ListForWritingIsNotReadEvenWhenItsPieceIsRemembered) {
  PageList list = list_of(ram_.scattered_pages(2), Rights::kWrite);
  PageView view(list);
  for (int turn = 0; turn < 2; ++turn) {
    Bytes copy(64);
    std::uint32_t index = 77;
    EXPECT_EQ(view.copy_in(0, copy), Reach::kDenied);
    EXPECT_EQ(view.load_index(0, index), Reach::kDenied);
    EXPECT_EQ(index, 77u);
    EXPECT_FALSE(view.extent(0, 64, Rights::kRead));
    EXPECT_TRUE(view.extent(0, 64, Rights::kWrite));
  }
}

TEST_F(PageViewTest, IndexThatIsNotAlignedIsOutside) {
  const TestPages pages = ram_.scattered_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  expect_shared(view, pages);
  const Bytes before = guest_bytes(pages, 0, 2 * kPageBytes);
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{6}, kEdge - 2, kEdge + 3}) {
    std::uint32_t index = 77;
    EXPECT_EQ(view.load_index(offset, index), Reach::kOutside) << offset;
    EXPECT_EQ(index, 77u);
    EXPECT_EQ(view.store_index(offset, 0x01010101), Reach::kOutside) << offset;
  }
  EXPECT_EQ(guest_bytes(pages, 0, 2 * kPageBytes), before);
}

TEST_F(PageViewTest, BytesBeyondTheEndAreOutsideAndDoNotWrap) {
  const TestPages pages = ram_.contiguous_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  const std::uint64_t end = list.size_bytes();
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::uint64_t offset : {end - 15, end, end + 1, kTop - 15, kTop - 7, kTop}) {
      Bytes copy(16);
      ExtentList extents;
      EXPECT_EQ(view.copy_in(offset, copy), Reach::kOutside) << offset;
      EXPECT_EQ(view.copy_out(offset, pattern(16)), Reach::kOutside) << offset;
      EXPECT_EQ(view.prefetch(offset, 16, Rights::kRead), Reach::kOutside) << offset;
      EXPECT_EQ(view.resolve(offset, 16, Rights::kRead, extents), Reach::kOutside) << offset;
      EXPECT_TRUE(extents.extents().empty());
      EXPECT_FALSE(view.extent(offset, 16, Rights::kRead)) << offset;
    }
    EXPECT_EQ(view.copy_in(end, {}), Reach::kOk);
    EXPECT_EQ(view.copy_in(end + 1, {}), Reach::kOutside);
    std::uint32_t index = 77;
    EXPECT_EQ(view.load_index(end, index), Reach::kOutside);
    EXPECT_EQ(view.store_index(kTop - 3, 1), Reach::kOutside);
    EXPECT_EQ(index, 77u);
    EXPECT_FALSE(view.extent(8, kTop, Rights::kRead));
    EXPECT_EQ(guest_bytes(pages, end - 16, 16), Bytes(16));
    EXPECT_TRUE(view.extent(end - 16, 16, Rights::kRead));  // now the piece is remembered
  }
}

TEST_F(PageViewTest, EmptyListHasNothing) {
  PageList list;
  PageView view(list);
  Bytes copy(8);
  EXPECT_EQ(view.copy_in(0, copy), Reach::kOutside);
  EXPECT_EQ(view.store_index(0, 1), Reach::kOutside);
  EXPECT_FALSE(view.extent(0, 8, Rights::kRead));
}

TEST_F(PageViewTest, FetchingAheadChangesNothingAndMayGoPastTheEnd) {
  const TestPages pages = ram_.scattered_pages(2);
  fill(pages);
  PageList list = list_of(pages);
  PageView view(list);
  const std::uint64_t end = list.size_bytes();
  for (const std::uint64_t ahead : {std::uint64_t{64}, kEdge - 32, kEdge, end, kTop - 4096, kTop}) {
    for (const std::uint64_t offset : {std::uint64_t{128}, kEdge - 64, end - 64}) {
      Bytes expected = guest_bytes(pages, 0, end);
      Bytes copy(64);
      ASSERT_EQ(view.copy_in(offset, copy, ahead), Reach::kOk);
      EXPECT_EQ(copy, guest_bytes(pages, offset, copy.size()));
      const Bytes sent = pattern(64, offset + ahead);
      ASSERT_EQ(view.copy_out(offset, sent, ahead), Reach::kOk);
      for (std::uint64_t i = 0; i < sent.size(); ++i) expected[offset + i] = sent[i];
      EXPECT_EQ(guest_bytes(pages, 0, end), expected) << offset << " " << ahead;
    }
  }
  const Bytes before = guest_bytes(pages, 0, end);
  EXPECT_EQ(view.prefetch(0, kPageBytes, Rights::kWrite), Reach::kOk);
  EXPECT_EQ(view.prefetch(kEdge - 64, 128, Rights::kRead), Reach::kOk);
  EXPECT_EQ(guest_bytes(pages, 0, end), before);
}

// ---- Memory that fails ----

TEST_F(PageViewTest, FirstAccessAfterTheFileFailedSaysSo) {
  using Access = Reach (*)(PageView&);
  const std::array<Access, 4> accesses{
      [](PageView& view) {
        std::array<std::byte, 64> bytes{};
        return view.copy_in(64, bytes);
      },
      [](PageView& view) { return view.copy_out(64, std::array<std::byte, 64>{}); },
      [](PageView& view) {
        std::uint32_t index = 77;
        const Reach reach = view.load_index(64, index);
        EXPECT_EQ(index, 77u);
        return reach;
      },
      [](PageView& view) { return view.store_index(64, 1); }};
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    TestMemory ram(16 * kPageBytes);
    GuestMemory memory;
    ram.show(memory);
    const TestPages pages = ram.contiguous_pages(2);
    PageList list = *PageList::from_directory(memory, pages.directory, 2, Rights::kReadWrite);
    PageView view(list);
    ASSERT_TRUE(view.extent(0, 64, Rights::kReadWrite));
    ram.truncate(0);
    EXPECT_EQ(accesses[i](view), Reach::kFailed) << i;
    EXPECT_TRUE(memory.failed());
    for (const Access again : accesses) EXPECT_EQ(again(view), Reach::kFailed) << i;
  }
  EXPECT_FALSE(memory_.failed());
}

TEST_F(PageViewTest, CopyFromOrToAnExtentOfAFailedFileSaysSo) {
  const TestPages pages = ram_.contiguous_pages(2);
  PageList list = list_of(pages);
  PageView view(list);
  const std::optional<Extent> before = view.extent(0, 64, Rights::kReadWrite);
  ASSERT_TRUE(before);
  ram_.truncate(0);
  EXPECT_FALSE(scatter_payload(pattern(64), *before));
  EXPECT_FALSE(view.extent(0, 64, Rights::kReadWrite));
  PageView later(list);
  EXPECT_FALSE(later.extent(0, 64, Rights::kReadWrite));
  EXPECT_EQ(later.copy_out(0, pattern(64)), Reach::kFailed);
}

}  // namespace
}  // namespace paravane
