// Lists that end, because their device was reset: nothing of an earlier life of a guest
// reaches its memory, while what belonged to it is taken apart.

#include <gtest/gtest.h>

#include <array>

#include "guestmem/page_list.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 2048;

class PageListEnd : public ::testing::Test {
 protected:
  void SetUp() override { ram_.show(memory_); }

  PageListBuilder begin(std::uint64_t pages) {
    const TestPages all = ram_.contiguous_pages(pages);
    return *PageListBuilder::start(memory_, all.directory, pages, Rights::kReadWrite);
  }
  PageList list() {
    PageListBuilder builder = begin(1);
    EXPECT_TRUE(builder.advance(1).value());
    return builder.take();
  }

  TestMemory ram_{kPages * kPageBytes};
  GuestMemory memory_;
};

TEST_F(PageListEnd, NothingOfAnEarlierLifeIsReached) {
  PageList old = list();
  PageList empty;
  memory_.end_lists();
  std::array<std::byte, 8> bytes{};
  std::uint32_t index = 0;
  ExtentList extents;
  EXPECT_EQ(old.copy_in(0, bytes), Reach::kAbsent);
  EXPECT_EQ(old.copy_out(0, bytes), Reach::kAbsent);
  EXPECT_EQ(old.load_index(0, index), Reach::kAbsent);
  EXPECT_EQ(old.store_index(0, 1), Reach::kAbsent);
  EXPECT_EQ(old.resolve(0, 8, Rights::kRead, extents), Reach::kAbsent);
  EXPECT_EQ(old.prefetch(0, 8, Rights::kRead), Reach::kAbsent);
  EXPECT_EQ(old.reach(), Reach::kAbsent);
  EXPECT_EQ(extents.total_bytes(), 0u);
  EXPECT_EQ(empty.reach(), Reach::kOk) << "it was of no guest";
}

TEST_F(PageListEnd, NothingBringsThemBack) {
  PageList old = list();
  memory_.end_lists();
  memory_.set_dma_enabled(false);
  memory_.set_dma_enabled(true);
  EXPECT_EQ(old.reach(), Reach::kAbsent);
  memory_.unmap_all();
  ASSERT_TRUE(memory_.map(ram_.fd(), 0, ram_.base(), ram_.size(), Rights::kReadWrite));
  EXPECT_EQ(old.reach(), Reach::kAbsent);
  memory_.end_lists();
  EXPECT_EQ(old.reach(), Reach::kAbsent);
}

TEST_F(PageListEnd, ListsThatAreMadeAfterwardsAreGood) {
  memory_.end_lists();
  EXPECT_EQ(list().reach(), Reach::kOk);
  memory_.set_dma_enabled(false);
  memory_.end_lists();
  memory_.set_dma_enabled(true);
  EXPECT_EQ(list().reach(), Reach::kOk);
}

TEST_F(PageListEnd, TheEndDoesNotTurnDmaOn) {
  memory_.set_dma_enabled(false);
  memory_.end_lists();
  EXPECT_FALSE(memory_.dma_enabled());
}

TEST_F(PageListEnd, AListThatIsBeingBuiltIsRefused) {
  PageListBuilder builder = begin(1024);
  ASSERT_FALSE(builder.advance(1).value());
  memory_.end_lists();
  const Result<bool> refused = builder.advance(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kBadState);
  EXPECT_EQ(builder.last_touched(), 0u);
}

TEST_F(PageListEnd, AnEndedListStillCountsUntilItGoes) {
  {
    const PageList old = list();
    const std::uint64_t used = memory_.usage().page_list_bytes;
    EXPECT_GT(used, 0u);
    memory_.end_lists();
    EXPECT_EQ(memory_.usage().page_list_bytes, used);
  }
  EXPECT_EQ(memory_.usage().page_list_bytes, 0u);
}

}  // namespace
}  // namespace paravane
