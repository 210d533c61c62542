// Lists of pages that are saved and loaded, into another map of the same memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/page_list.h"
#include "guestmem/page_view.h"
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

constexpr std::uint64_t kStatePages = 2048;

class PageListState : public ::testing::Test {
 protected:
  void SetUp() override {
    ram_.show(memory_);
    ram_.show(later_);
  }
  PageList list_of(const TestPages& pages) {
    return PageList::from_directory(memory_, pages.directory, pages.count(), Rights::kReadWrite)
        .value();
  }
  static std::vector<std::byte> saved(const PageList& list) {
    Writer out;
    list.save(out);
    return out.take();
  }
  PageList load(std::span<const std::byte> bytes) {
    Reader in(bytes, loading_);
    return PageList::load(in, later_, Rights::kReadWrite);
  }
  std::string why() const { return loading_.good() ? "" : loading_.status().error().message; }

  // As one that is hostile would write it.
  struct Stretch {
    Le64 address;
    Le32 pages;
  };
  static std::vector<std::byte> written(std::uint64_t pages, std::vector<Stretch> stretches) {
    Writer out;
    out.number(Tag{1}, pages);
    out.bytes(Tag{2}, std::as_bytes(std::span(stretches)));
    return out.take();
  }
  Stretch first_pages(std::uint32_t pages) {
    return {.address = Le64(ram_.base().value), .pages = Le32(pages)};
  }

  TestMemory ram_{kStatePages * kPageBytes};
  GuestMemory memory_;
  GuestMemory later_;
  Loading loading_;
};

TEST_F(PageListState, ItsPagesAreTheSame) {
  for (const TestPages& pages : {ram_.contiguous_pages(600), ram_.scattered_pages(600)}) {
    for (std::uint64_t i = 0; i < 600; ++i) ram_.write(pages.pages[i], Le64(1000 + i));
    const PageList list = list_of(pages);
    PageList loaded = load(saved(list));
    EXPECT_EQ(why(), "");
    EXPECT_EQ(loaded.size_bytes(), list.size_bytes());
    EXPECT_EQ(loaded.run_count(), list.run_count());
    for (const std::uint64_t i : {0u, 1u, 511u, 512u, 599u}) {
      Le64 word;
      ASSERT_EQ(loaded.copy_in(i * kPageBytes, std::as_writable_bytes(std::span(&word, 1))),
                Reach::kOk);
      EXPECT_EQ(word.get(), 1000 + i);
    }
    EXPECT_EQ(saved(loaded), saved(list));
  }
}

// As a VMM may show memory that it has plugged.
TEST_F(PageListState, RangesOfTheMapDoNotShow) {
  const PageList list = list_of(ram_.contiguous_pages(100));
  later_.unmap(ram_.base(), kStatePages * kPageBytes);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t bytes = kStatePages / 4 * kPageBytes;
    ASSERT_TRUE(later_.map(ram_.fd(), i * bytes, GuestAddr{ram_.base().value + i * bytes}, bytes,
                           Rights::kReadWrite));
  }
  PageList loaded = load(saved(list));
  EXPECT_EQ(loaded.reach(), Reach::kOk);
  EXPECT_EQ(saved(loaded), saved(list));
  // Through all four of them.
  const TestPages all = ram_.contiguous_pages(1200);
  ram_.write(all.pages[1100], Le64(7));
  PageList through = load(saved(list_of(all)));
  Le64 word;
  EXPECT_EQ(through.copy_in(1100 * kPageBytes, std::as_writable_bytes(std::span(&word, 1))),
            Reach::kOk);
  EXPECT_EQ(word.get(), 7u);
}

TEST_F(PageListState, ItIsCharged) {
  const PageList list = list_of(ram_.scattered_pages(600));
  const PageList loaded = load(saved(list));
  EXPECT_GT(later_.usage().page_list_bytes, 600 * 16u);
  EXPECT_EQ(later_.usage().page_list_bytes, memory_.usage().page_list_bytes);
}

TEST_F(PageListState, WhatIsNotShownMakesItAbsent) {
  const TestPages pages = ram_.contiguous_pages(100);
  const PageList list = list_of(pages);
  later_.unmap(pages.pages[50], kPageBytes);
  PageList loaded = load(saved(list));
  EXPECT_EQ(why(), "");
  EXPECT_EQ(loaded.size_bytes(), list.size_bytes());
  std::byte byte{};
  EXPECT_EQ(loaded.copy_in(0, std::span(&byte, 1)), Reach::kAbsent);
  EXPECT_EQ(loaded.reach(), Reach::kAbsent);
  const std::array<std::byte, 4> word{};
  EXPECT_EQ(loaded.copy_out(kPageBytes - 2, word), Reach::kAbsent);
  EXPECT_EQ(loaded.store_index(0, 1), Reach::kAbsent);
  std::uint32_t index = 0;
  EXPECT_EQ(loaded.load_index(0, index), Reach::kAbsent);
  EXPECT_EQ(loaded.prefetch(0, 64, Rights::kRead), Reach::kAbsent);
  ExtentList extents;
  EXPECT_EQ(loaded.resolve(0, 64, Rights::kRead, extents), Reach::kAbsent);
  EXPECT_FALSE(PageView(loaded).piece(0, 64, Rights::kRead).has_value());
  PageList again = load(saved(loaded));  // it stays so
  EXPECT_EQ(why(), "");
  EXPECT_EQ(again.reach(), Reach::kAbsent);
}

// Of a life of the device that is over.
TEST_F(PageListState, OneThatWasEndedIsAbsent) {
  const PageList list = list_of(ram_.contiguous_pages(100));
  memory_.end_lists();
  EXPECT_EQ(load(saved(list)).reach(), Reach::kAbsent);
  EXPECT_EQ(why(), "");
}

TEST_F(PageListState, WhatIsShownWithFewerRightsMakesItAbsent) {
  const PageList list = list_of(ram_.contiguous_pages(100));
  later_.unmap(ram_.base(), kStatePages * kPageBytes);
  ram_.show(later_, Rights::kRead);
  EXPECT_EQ(load(saved(list)).reach(), Reach::kAbsent);
  EXPECT_EQ(why(), "");
}

TEST_F(PageListState, AQuotaThatIsUsedUpMakesItAbsent) {
  const TestPages pages = ram_.scattered_pages(600);
  std::vector<PageList> lists;
  for (int i = 0; i < 2000; ++i) {
    Result<PageList> one =
        PageList::from_directory(later_, pages.directory, pages.count(), Rights::kReadWrite);
    if (!one) break;
    lists.push_back(std::move(*one));
  }
  ASSERT_LT(lists.size(), 2000u);
  EXPECT_EQ(load(saved(list_of(pages))).reach(), Reach::kAbsent);
  EXPECT_EQ(why(), "");
}

TEST_F(PageListState, WhatIsNoListIsRefused) {
  const std::vector<std::vector<std::byte>> all = {
      written(0, {}),
      written(0, {first_pages(1)}),
      written(kMaxDirectoryPages + 1, {first_pages(1)}),
      written(2, {first_pages(1)}),
      written(2, {first_pages(3)}),
      written(1, {first_pages(0), first_pages(1)}),
      written(2, {first_pages(UINT32_MAX), first_pages(3)}),
      written(1, {{.address = Le64(ram_.base().value + 1), .pages = Le32(1)}}),
      written(2, {{.address = Le64(~std::uint64_t{4095}), .pages = Le32(2)}}),
  };
  for (const auto& bytes : all) {
    loading_ = {};
    load(bytes);
    EXPECT_NE(why(), "") << &bytes - all.data();
  }
}

TEST_F(PageListState, BytesThatAreNoStretchAreRefused) {
  Writer out;
  out.number(Tag{1}, 2);
  const std::vector<std::byte> some(13);
  out.bytes(Tag{2}, some);
  const auto bytes = out.take();
  load(bytes);
  EXPECT_THAT(why(), HasSubstr("2: no list"));
}

}  // namespace
}  // namespace paravane
