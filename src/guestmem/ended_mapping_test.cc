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

TEST_F(EndedMappingTest, WithoutASinkItIsUnmappedAtOnce) {
  memory_.end_mappings_through(nullptr);
  ASSERT_TRUE(show(kMebibyte));
  memory_.unmap_all();
  EXPECT_EQ(file_.mapped_bytes(), 0u);
}

}  // namespace
}  // namespace paravane
