#include "guestmem/guest_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/wire_int.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kPages = 16;

// RAM of 16 pages at 1 MiB, with DMA on.
class GuestMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { ram_.show(memory_); }

  GuestAddr page(std::uint64_t number) const { return {ram_.base().value + number * kPageBytes}; }

  TestMemory ram_{kPages * kPageBytes};
  GuestMemory memory_;
};

TEST_F(GuestMemoryTest, ReadReturnsWhatTheGuestWroteAndTheOtherWayRound) {
  ram_.write(page(1), Le64(0x1122334455667788));
  const Result<Le64> copy = memory_.read<Le64>(page(1));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->get(), 0x1122334455667788u);

  ASSERT_TRUE(memory_.write(page(2), Le32(0xAABBCCDD)));
  EXPECT_EQ(ram_.read<Le32>(page(2)).get(), 0xAABBCCDDu);
}

TEST_F(GuestMemoryTest, LastObjectFitsAndOneByteFurtherDoesNot) {
  EXPECT_TRUE(memory_.read<Le64>(GuestAddr{page(kPages).value - 8}));
  const Result<Le64> beyond = memory_.read<Le64>(GuestAddr{page(kPages).value - 7});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Errc::kOutOfRange);
  EXPECT_FALSE(memory_.read<Le64>(GuestAddr{ram_.base().value - 1}));
}

TEST_F(GuestMemoryTest, AddressNearTheTopDoesNotWrap) {
  for (const std::uint64_t address : {kTop, kTop - 3, kTop - 7}) {
    const Result<Le64> copy = memory_.read<Le64>(GuestAddr{address});
    ASSERT_FALSE(copy);
    EXPECT_EQ(copy.error().code, Errc::kOutOfRange);
  }
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(page(0), kTop, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(memory_.resolve(page(1), kTop - page(0).value, Rights::kRead, extents),
            Reach::kOutside);
  EXPECT_TRUE(extents.extents().empty());
}

TEST_F(GuestMemoryTest, C09_NothingIsReachedWhileDmaIsOff) {
  memory_.set_dma_enabled(false);
  const Result<Le64> copy = memory_.read<Le64>(page(0));
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, Errc::kBadState);
  EXPECT_FALSE(memory_.write(page(0), Le64(1)));
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(page(0), 8, Rights::kRead, extents), Reach::kAbsent);

  memory_.set_dma_enabled(true);
  EXPECT_TRUE(memory_.write(page(0), Le64(1)));
}

TEST(GuestMemory, DmaIsOffAtTheStart) {
  GuestMemory memory;
  TestMemory ram(kPageBytes);
  ASSERT_TRUE(memory.map(ram.fd(), 0, ram.base(), kPageBytes, Rights::kReadWrite));
  EXPECT_FALSE(memory.dma_enabled());
  EXPECT_FALSE(memory.read<Le64>(ram.base()));
}

TEST_F(GuestMemoryTest, RightsBelongToTheRange) {
  memory_.unmap(page(4), 3 * kPageBytes);
  ASSERT_TRUE(memory_.map(ram_.fd(), 4 * kPageBytes, page(4), kPageBytes, Rights::kRead));
  ASSERT_TRUE(memory_.map(ram_.fd(), 5 * kPageBytes, page(5), kPageBytes, Rights::kWrite));
  ASSERT_TRUE(memory_.map(ram_.fd(), 6 * kPageBytes, page(6), kPageBytes, Rights::kNone));

  EXPECT_TRUE(memory_.read<Le64>(page(4)));
  EXPECT_FALSE(memory_.write(page(4), Le64(1)));
  EXPECT_FALSE(memory_.read<Le64>(page(5)));
  EXPECT_TRUE(memory_.write(page(5), Le64(1)));
  EXPECT_FALSE(memory_.read<Le64>(page(6)));
  EXPECT_FALSE(memory_.write(page(6), Le64(1)));
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(page(4), 8, Rights::kReadWrite, extents), Reach::kDenied);
}

TEST_F(GuestMemoryTest, AccessMayStraddleAdjacentRangesOfOtherFiles) {
  TestMemory more(2 * kPageBytes, page(kPages));
  ASSERT_TRUE(memory_.map(more.fd(), 0, more.base(), more.size(), Rights::kReadWrite));
  const GuestAddr at{page(kPages).value - 3};

  ASSERT_TRUE(memory_.write(at, Le64(0x0807060504030201)));
  EXPECT_EQ(memory_.read<Le64>(at)->get(), 0x0807060504030201u);
  EXPECT_EQ(ram_.read<std::uint8_t>(at), 1);
  EXPECT_EQ(memory_.read<std::uint8_t>(more.base()).value(), 4);

  ExtentList extents;
  ASSERT_EQ(memory_.resolve(at, 8, Rights::kReadWrite, extents), Reach::kOk);
  ASSERT_EQ(extents.extents().size(), 2u);
  EXPECT_EQ(extents.extents()[0].size(), 3u);
  EXPECT_EQ(extents.extents()[1].size(), 5u);
  EXPECT_EQ(extents.total_bytes(), 8u);
}

TEST_F(GuestMemoryTest, ObjectThatReachesIntoAHoleIsNotWrittenAtAll) {
  memory_.unmap(page(3), kPageBytes);
  const GuestAddr at{page(3).value - 4};
  EXPECT_FALSE(memory_.write(at, Le64(kTop)));
  EXPECT_EQ(ram_.read<Le32>(at).get(), 0u);
}

TEST_F(GuestMemoryTest, FailedResolveLeavesTheListAsItWas) {
  ExtentList extents;
  ASSERT_EQ(memory_.resolve(page(0), 100, Rights::kRead, extents), Reach::kOk);
  memory_.unmap(page(3), kPageBytes);
  EXPECT_EQ(memory_.resolve(page(2), 2 * kPageBytes, Rights::kRead, extents), Reach::kAbsent);
  EXPECT_EQ(extents.extents().size(), 1u);
  EXPECT_EQ(extents.total_bytes(), 100u);
}

TEST_F(GuestMemoryTest, NothingIsNeededForNoBytes) {
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(GuestAddr{kTop}, 0, Rights::kReadWrite, extents), Reach::kOk);
  EXPECT_TRUE(memory_.copy_in(GuestAddr{0}, {}));
  EXPECT_EQ(extents.total_bytes(), 0u);
}

TEST_F(GuestMemoryTest, UnmappedAddressMayComeBackAndUnknownOneIsOutside) {
  memory_.unmap(page(2), kPageBytes);
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(page(2), 8, Rights::kRead, extents), Reach::kAbsent);
  EXPECT_EQ(memory_.resolve(page(kPages), 8, Rights::kRead, extents), Reach::kOutside);

  ASSERT_TRUE(memory_.map(ram_.fd(), 2 * kPageBytes, page(2), kPageBytes, Rights::kReadWrite));
  EXPECT_EQ(memory_.resolve(page(2), 8, Rights::kRead, extents), Reach::kOk);
}

TEST_F(GuestMemoryTest, AfterAWhileAnUnmappedAddressIsOutside) {
  using namespace std::chrono_literals;
  constexpr Instant kStart{1000s};
  memory_.unmap(page(2), kPageBytes);
  ExtentList extents;
  memory_.expire_files(kStart);
  memory_.expire_files(kStart + 9s);
  EXPECT_EQ(memory_.resolve(page(2), 8, Rights::kRead, extents), Reach::kAbsent);
  memory_.expire_files(kStart + 10s);
  EXPECT_EQ(memory_.resolve(page(2), 8, Rights::kRead, extents), Reach::kOutside);
}

TEST_F(GuestMemoryTest, RangeWithoutAFileExistsAndCannotBeReached) {
  EXPECT_FALSE(memory_.has_range_without_file());
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, page(kPages), 1 << 20, Rights::kReadWrite));
  EXPECT_FALSE(memory_.has_range_without_file());  // ROMs are no reason for a warning
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, GuestAddr{1u << 30}, 2 << 20, Rights::kReadWrite));
  EXPECT_TRUE(memory_.has_range_without_file());
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(page(kPages), 8, Rights::kRead, extents), Reach::kDenied);
  EXPECT_FALSE(memory_.map(ram_.fd(), 0, page(kPages), kPageBytes, Rights::kReadWrite));
}

TEST_F(GuestMemoryTest, SaysWhereAFileIsShownAndWhetherDevicesHaveMemory) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  memory_.unmap_all();
  EXPECT_FALSE(memory_.shows_file(GuestAddr{0}, 16 * kMebibyte));
  ASSERT_TRUE(memory_.map(ram_.fd(), 0, page(4), 2 * kPageBytes, Rights::kRead));
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, page(6), kPageBytes, Rights::kRead));
  EXPECT_FALSE(memory_.shows_file(page(3), kPageBytes));
  EXPECT_TRUE(memory_.shows_file(page(3), kPageBytes + 1));
  EXPECT_TRUE(memory_.shows_file(page(5), kPageBytes));
  EXPECT_FALSE(memory_.shows_file(page(6), kPageBytes)) << "there, and without a file";
  EXPECT_FALSE(memory_.shows_file(page(7), kMebibyte));

  ASSERT_TRUE(memory_.map(UniqueFd(), 0, GuestAddr{0xA0000}, kPageBytes, Rights::kReadWrite));
  EXPECT_FALSE(memory_.shows_device_memory()) << "below 1 MiB";
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, GuestAddr{kMebibyte}, kPageBytes, Rights::kRead));
  EXPECT_FALSE(memory_.shows_device_memory()) << "a ROM";
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, GuestAddr{8 * kMebibyte}, kPageBytes, Rights::kReadWrite));
  EXPECT_TRUE(memory_.shows_device_memory());
}

TEST_F(GuestMemoryTest, RangesWithoutAFileAreCountedByTheirSize) {
  constexpr GuestAddr kAt{1u << 30};
  constexpr std::uint64_t kMebibyte = 1 << 20;
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, kAt, 6 * kMebibyte, Rights::kReadWrite));
  memory_.unmap({kAt.value + 2 * kMebibyte}, kMebibyte);  // 2 and 3 MiB are left
  EXPECT_TRUE(memory_.has_range_without_file());
  memory_.unmap(kAt, 2 * kMebibyte);
  EXPECT_TRUE(memory_.has_range_without_file());
  memory_.unmap({kAt.value + 4 * kMebibyte}, 2 * kMebibyte);
  EXPECT_FALSE(memory_.has_range_without_file()) << "1 MiB is no reason";
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, kAt, 2 * kMebibyte, Rights::kReadWrite));
  memory_.unmap_all();
  EXPECT_FALSE(memory_.has_range_without_file());
}

TEST_F(GuestMemoryTest, GenerationChangesWithEveryAnswer) {
  std::vector<std::uint64_t> seen{memory_.generation()};
  memory_.unmap(page(1), kPageBytes);
  seen.push_back(memory_.generation());
  ASSERT_TRUE(memory_.map(ram_.fd(), kPageBytes, page(1), kPageBytes, Rights::kReadWrite));
  seen.push_back(memory_.generation());
  memory_.set_dma_enabled(false);
  seen.push_back(memory_.generation());
  memory_.unmap_all();
  seen.push_back(memory_.generation());
  EXPECT_EQ(std::ranges::adjacent_find(seen, std::greater_equal<>()), seen.end());

  memory_.unmap(page(1), kPageBytes);  // nothing is there any more
  EXPECT_EQ(memory_.generation(), seen.back());
}

}  // namespace
}  // namespace paravane
