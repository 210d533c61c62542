// What becomes of mappings that nothing shows any more.

#include "guestmem/ended_mapping.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "guestmem/guest_memory.h"
#include "testing/named_file.h"

namespace paravane {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr GuestAddr kAt{std::uint64_t{1} << 32};

class Kept final : public MappingSink {
 public:
  void take(EndedMapping mapping) override { all.push_back(std::move(mapping)); }
  std::deque<EndedMapping> all;
};

class EndedMappingTest : public ::testing::Test {
 protected:
  EndedMappingTest() { memory_.end_mappings_through(&kept_); }
  Status show(std::uint64_t bytes) {
    return memory_.map(file_.fd(), 0, kAt, bytes, Rights::kReadWrite);
  }

  NamedFile file_{"paravane-ended-mapping", 20 * kMebibyte};
  Kept kept_;
  GuestMemory memory_;
};

// The worker's turn in which a VMM hangs up does not unmap its memory.
TEST_F(EndedMappingTest, WhatNothingShowsAnyMoreIsGivenAway) {
  ASSERT_TRUE(show(20 * kMebibyte));
  memory_.unmap_all();
  EXPECT_EQ(memory_.usage().files, 0u);
  ASSERT_EQ(kept_.all.size(), 1u);
  EXPECT_EQ(file_.mapped_bytes(), 20 * kMebibyte);
  kept_.all.clear();
  EXPECT_EQ(file_.mapped_bytes(), 0u);
}

TEST_F(EndedMappingTest, ItIsTakenDownInSlices) {
  ASSERT_TRUE(show(20 * kMebibyte));
  memory_.unmap_all();
  EndedMapping& ended = kept_.all.front();
  EXPECT_TRUE(ended.take_down_some());
  EXPECT_EQ(file_.mapped_bytes(), 12 * kMebibyte);
  EXPECT_TRUE(ended.take_down_some());
  EXPECT_EQ(file_.mapped_bytes(), 4 * kMebibyte);
  EXPECT_FALSE(ended.take_down_some());
  EXPECT_EQ(file_.mapped_bytes(), 0u);
  EXPECT_FALSE(ended.take_down_some());
}

TEST_F(EndedMappingTest, FilesThatExpireAreGivenAway) {
  ASSERT_TRUE(show(kMebibyte));
  memory_.unmap(kAt, kMebibyte);
  memory_.expire_files(Instant(std::chrono::hours(1)));
  EXPECT_TRUE(kept_.all.empty());
  memory_.expire_files(Instant(std::chrono::hours(2)));
  EXPECT_EQ(kept_.all.size(), 1u);
}

TEST_F(EndedMappingTest, TheOldMappingOfAFileThatGrewIsGivenAway) {
  ASSERT_TRUE(show(20 * kMebibyte));
  ASSERT_TRUE(file_.resize(22 * kMebibyte));
  memory_.unmap(kAt, 20 * kMebibyte);
  ASSERT_TRUE(show(22 * kMebibyte));
  EXPECT_EQ(kept_.all.size(), 1u);
  EXPECT_EQ(file_.mapped_bytes(), 42 * kMebibyte);
  kept_.all.clear();
  EXPECT_EQ(file_.mapped_bytes(), 22 * kMebibyte);
}

// Nothing of it is touched, so a VMM can do this a thousand times in the time that the
// kernel takes for one of them, and the addresses are those of all VMs.
TEST_F(EndedMappingTest, AVmThatMapsAndUnmapsFasterThanTheKernelCanFollowIsRefused) {
  GuestMemory memory({.bytes = 20 * kMebibyte});
  memory.end_mappings_through(&kept_);
  const auto show = [&] {
    return memory.map(file_.fd(), 0, kAt, 20 * kMebibyte, Rights::kReadWrite);
  };
  int accepted = 0;
  for (; accepted < 100 && show(); ++accepted) memory.unmap_all();
  EXPECT_EQ(accepted, 2);
  EXPECT_EQ(file_.mapped_bytes(), 40 * kMebibyte);
  EXPECT_EQ(show().error().code, Errc::kResourceExhausted);

  kept_.all.pop_front();
  EXPECT_TRUE(show()) << "half of it is down";
}

TEST_F(EndedMappingTest, AVmHasOnlySoManyMappingsThatAreNotDown) {
  GuestMemory memory({.files = 3});
  memory.end_mappings_through(&kept_);
  int accepted = 0;
  for (; accepted < 100; ++accepted) {
    if (!memory.map(file_.fd(), 0, kAt, kMebibyte, Rights::kReadWrite)) break;
    memory.unmap_all();
  }
  EXPECT_EQ(accepted, 4);
}

TEST_F(EndedMappingTest, WithoutASinkItIsUnmappedAtOnce) {
  memory_.end_mappings_through(nullptr);
  ASSERT_TRUE(show(kMebibyte));
  memory_.unmap_all();
  EXPECT_EQ(file_.mapped_bytes(), 0u);
}

}  // namespace
}  // namespace paravane
