// What page lists of one guest may take of our memory, and how little of a long one is
// touched at a time.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/page_list.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 2048;
constexpr std::uint64_t kRunBytes = 16;
constexpr std::uint64_t kSourceBytes = 24;  // a file, and where the guest sees it
constexpr std::uint64_t kTable = 512;
constexpr GuestAddr kHigh{std::uint64_t{1} << 40};

class PageListQuota : public ::testing::Test {
 protected:
  void limit(std::uint64_t bytes) {
    memory_.emplace(GuestMemory::Limits{.page_list_bytes = bytes});
    ram_.show(*memory_);
  }
  Result<PageList> take_in(GuestAddr directory, std::uint64_t pages) {
    return PageList::from_directory(*memory_, directory, pages, Rights::kReadWrite);
  }
  std::uint64_t used() const { return memory_->usage().page_list_bytes; }

  // A directory whose 512 entries name one table, whose 512 entries alternate between two
  // pages: five pages of the guest, and no two of 262,144 entries can be merged.
  GuestAddr alternating_directory() {
    const std::vector<GuestAddr> entries = alternating(kTable);
    const GuestAddr directory = ram_.make_directory(entries);
    const Le64 table = ram_.read<Le64>(directory);
    for (std::uint64_t i = 0; i < kTable; ++i) ram_.write({directory.value + 8 * i}, table);
    return directory;
  }
  // Two pages that do not follow one another, in either order.
  std::vector<GuestAddr> alternating(std::uint64_t entries) {
    const GuestAddr first = ram_.allocate(3);
    const GuestAddr third{first.value + 2 * kPageBytes};
    std::vector<GuestAddr> pages;
    for (std::uint64_t i = 0; i < entries; ++i) pages.push_back(i % 2 == 0 ? first : third);
    return pages;
  }
  PageListBuilder begin(GuestAddr directory, std::uint64_t pages) {
    return *PageListBuilder::start(*memory_, directory, pages, Rights::kReadWrite);
  }

  TestMemory ram_{kPages * kPageBytes};
  std::optional<GuestMemory> memory_{std::in_place};
};

TEST_F(PageListQuota, AListIsChargedForItsRunsAndGivesThemBack) {
  limit(0);
  {
    Result<PageList> scattered = take_in(ram_.scattered_pages(600).directory, 600);
    ASSERT_TRUE(scattered);
    EXPECT_EQ(used(), 600 * kRunBytes + kSourceBytes);
    PageList moved = std::move(*scattered);
    EXPECT_EQ(used(), 600 * kRunBytes + kSourceBytes);
    const Result<PageList> merged = take_in(ram_.contiguous_pages(600).directory, 600);
    EXPECT_EQ(used(), 601 * kRunBytes + 2 * kSourceBytes);
    moved = PageList();
    EXPECT_EQ(used(), kRunBytes + kSourceBytes);
  }
  EXPECT_EQ(used(), 0u);
}

TEST_F(PageListQuota, AListAboveTheQuotaIsRefusedByName) {
  limit(3 * (kTable * kRunBytes + kSourceBytes));
  const GuestAddr directory = alternating_directory();
  std::vector<PageList> lists;
  for (int i = 0; i < 3; ++i) {
    Result<PageList> list = take_in(directory, kTable);
    ASSERT_TRUE(list) << i;
    lists.push_back(std::move(*list));
  }
  const Result<PageList> refused = take_in(directory, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("page_list_bytes"), std::string::npos);
  EXPECT_EQ(used(), memory_->page_list_quota()) << "what was refused takes nothing";

  lists.pop_back();
  EXPECT_TRUE(take_in(directory, kTable));
}

TEST_F(PageListQuota, ALongListIsRefusedOnTheWay) {
  limit(10 * kTable * kRunBytes);
  PageListBuilder builder = begin(alternating_directory(), kMaxDirectoryPages);
  ASSERT_TRUE(builder.advance(8));
  EXPECT_EQ(used(), 8 * kTable * kRunBytes + kSourceBytes);
  const Result<bool> more = builder.advance(8);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::kResourceExhausted);
  EXPECT_EQ(builder.last_touched(), 2 * kTable);
  EXPECT_LE(used(), memory_->page_list_quota());
}

// Each page twice, every one a run of its own.
TEST_F(PageListQuota, WithoutALimitItFollowsTheMappedFiles) {
  limit(0);
  EXPECT_EQ(memory_->page_list_quota(), std::uint64_t{8} << 20) << "a small guest";
  const TestMemory giant(std::uint64_t{1} << 30, kHigh);
  ASSERT_TRUE(memory_->map(giant.fd(), 0, kHigh, giant.size(), Rights::kReadWrite));
  EXPECT_EQ(memory_->page_list_quota(), (kMaxDirectoryPages + kPages) * 2 * kRunBytes);
}

TEST_F(PageListQuota, ListsStayWhenTheQuotaFallsAndOnlyNewOnesAreRefused) {
  limit(0);
  const GuestAddr directory = alternating_directory();
  TestMemory giant(std::uint64_t{1} << 30, kHigh);
  ASSERT_TRUE(memory_->map(giant.fd(), 0, kHigh, giant.size(), Rights::kReadWrite));
  Result<PageList> first = take_in(directory, kMaxDirectoryPages);
  Result<PageList> second = take_in(directory, kMaxDirectoryPages);
  ASSERT_TRUE(first && second);
  ASSERT_LT(used(), memory_->page_list_quota());
  memory_->unmap(kHigh, giant.size());
  memory_->expire_files(Instant(std::chrono::hours(1)));
  memory_->expire_files(Instant(std::chrono::hours(2)));
  EXPECT_GT(used(), memory_->page_list_quota());

  EXPECT_EQ(take_in(directory, 1).error().code, Errc::kResourceExhausted);
  EXPECT_EQ(second->reach(), Reach::kOk);
  first = PageList();
  EXPECT_TRUE(take_in(directory, kTable));
}

TEST_F(PageListQuota, NoCallTouchesMoreThanItsTables) {
  limit(0);
  PageListBuilder builder = begin(alternating_directory(), kMaxDirectoryPages);
  std::uint64_t touched = 0;
  unsigned calls = 0;
  for (bool done = false; !done; ++calls) {
    const Result<bool> result = builder.advance(8);
    ASSERT_TRUE(result);
    EXPECT_LE(builder.last_touched(), 8 * kTable);
    touched += builder.last_touched();
    done = *result;
  }
  // Every page is looked at once, and every run is put into the list once.
  EXPECT_EQ(touched, 2 * kMaxDirectoryPages);
  EXPECT_EQ(calls, 2 * kMaxDirectoryPages / (8 * kTable));
  EXPECT_EQ(builder.take().run_count(), kMaxDirectoryPages);
}

TEST_F(PageListQuota, RunsAreTheSameHoweverTheyWereGathered) {
  limit(0);
  // 4,096 runs, the last of which goes on behind them, and some more.
  const TestPages row = ram_.contiguous_pages(3);
  ram_.allocate();  // so that nothing follows the row
  std::vector<GuestAddr> entries = alternating(4095);
  entries.insert(entries.end(), row.pages.begin(), row.pages.end());
  const std::vector<GuestAddr> more = alternating(500);
  entries.insert(entries.end(), more.begin(), more.end());
  for (std::uint64_t i = 0; i < 3; ++i) ram_.write(row.pages[i], Le64(70 + i));
  PageListBuilder builder = begin(ram_.make_directory(entries), entries.size());
  while (!builder.advance(1).value()) {
  }
  PageList list = builder.take();
  EXPECT_EQ(list.run_count(), 4096u + 500u);
  EXPECT_EQ(list.size_bytes(), entries.size() * kPageBytes);
  for (std::uint64_t i = 0; i < 3; ++i) {
    Le64 word;
    ASSERT_EQ(list.copy_in((4095 + i) * kPageBytes, std::as_writable_bytes(std::span(&word, 1))),
              Reach::kOk);
    EXPECT_EQ(word.get(), 70 + i);
  }
  EXPECT_EQ(list.reach(), Reach::kOk);
}

// Twice one file, between which another lies.
TEST_F(PageListQuota, AFileIsRememberedOnce) {
  limit(0);
  TestMemory other(4 * kPageBytes, kHigh);
  ASSERT_TRUE(memory_->map(other.fd(), 0, kHigh, other.size(), Rights::kReadWrite));
  const GuestAddr ours = ram_.allocate();
  std::vector<GuestAddr> entries;
  for (int i = 0; i < 200; ++i) entries.push_back(i % 2 == 0 ? ours : kHigh);
  const Result<PageList> list = take_in(ram_.make_directory(entries), entries.size());
  ASSERT_TRUE(list);
  EXPECT_EQ(used(), 200 * kRunBytes + 2 * kSourceBytes);
}

// A page of one file at ninety addresses, and each of them twice: more sources than are looked
// through for one that is there already.
TEST_F(PageListQuota, ManySourcesAreChargedAndFound) {
  limit(0);
  TestMemory other(kPageBytes, kHigh);
  std::vector<GuestAddr> entries;
  for (std::uint64_t i = 0; i < 90; ++i) {
    const GuestAddr at{kHigh.value + 2 * i * kPageBytes};
    ASSERT_TRUE(memory_->map(other.fd(), 0, at, kPageBytes, Rights::kReadWrite));
    entries.insert(entries.end(), 2, at);
  }
  for (std::uint64_t i = 0; i < 90; ++i) entries.push_back(entries[2 * i]);
  Result<PageList> list = take_in(ram_.make_directory(entries), entries.size());
  ASSERT_TRUE(list);
  EXPECT_EQ(list->run_count(), 270u);
  EXPECT_EQ(used(), 270 * kRunBytes + 257 * kSourceBytes) << "with the room that is left";
  EXPECT_EQ(list->reach(), Reach::kOk);
  memory_->unmap(entries[4], kPageBytes);
  std::byte byte{};
  EXPECT_EQ(list->copy_in(4 * kPageBytes, std::span(&byte, 1)), Reach::kAbsent);
  EXPECT_EQ(list->copy_in(6 * kPageBytes, std::span(&byte, 1)), Reach::kOk);
  EXPECT_EQ(list->copy_in(182 * kPageBytes, std::span(&byte, 1)), Reach::kAbsent);
}

}  // namespace
}  // namespace paravane
