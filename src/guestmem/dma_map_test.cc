// The DMA map of GuestMemory: what a VMM may say, and what it may not.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/wire_int.h"
#include "guestmem/guest_memory.h"
#include "testing/guest_memory_peer.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kPages = 16;
constexpr Instant kStart{1000s};

class DmaMapTest : public ::testing::Test {
 protected:
  DmaMapTest() { memory_.set_dma_enabled(true); }

  static GuestAddr page(std::uint64_t number) {
    return {TestMemory::kBase.value + number * kPageBytes};
  }
  // Pages [first, first+count) of the file, where they belong.
  Status map_pages(std::uint64_t first, std::uint64_t count) {
    return memory_.map(ram_.fd(), first * kPageBytes, page(first), count * kPageBytes,
                       Rights::kReadWrite);
  }
  Errc refusal(const Status& status) {
    EXPECT_FALSE(status.has_value());
    return status ? Errc::kNotFound : status.error().code;
  }
  // Which of the 16 pages can be read.
  std::string readable() const {
    std::string text;
    for (std::uint64_t i = 0; i < kPages; ++i) {
      text += memory_.read<Le64>(page(i)) ? std::to_string(i % 10) : ".";
    }
    return text;
  }

  TestMemory ram_{kPages * kPageBytes};
  GuestMemory memory_;
};

TEST_F(DmaMapTest, RefusesRangesThatAreNotPages) {
  EXPECT_EQ(refusal(memory_.map(ram_.fd(), 0, page(0), 0, Rights::kRead)), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(memory_.map(ram_.fd(), 0, page(0), 100, Rights::kRead)),
            Errc::kInvalidArgument);
  EXPECT_EQ(
      refusal(memory_.map(ram_.fd(), 0, GuestAddr{page(0).value + 8}, kPageBytes, Rights::kRead)),
      Errc::kInvalidArgument);
  EXPECT_EQ(refusal(memory_.map(ram_.fd(), 512, page(0), kPageBytes, Rights::kRead)),
            Errc::kInvalidArgument);
  EXPECT_EQ(memory_.usage().ranges, 0u);
  EXPECT_EQ(memory_.usage().files, 0u);
}

TEST_F(DmaMapTest, RefusesRangesThatWrapAround) {
  const GuestAddr last_page{kTop - kPageBytes + 1};
  EXPECT_EQ(refusal(memory_.map(ram_.fd(), 0, last_page, 2 * kPageBytes, Rights::kRead)),
            Errc::kInvalidArgument);
  EXPECT_EQ(refusal(memory_.map(ram_.fd(), kTop - kPageBytes + 1, page(0), 2 * kPageBytes,
                                Rights::kRead)),
            Errc::kInvalidArgument);
  EXPECT_EQ(refusal(memory_.map(UniqueFd(), 0, page(1), kTop - kPageBytes + 1, Rights::kRead)),
            Errc::kInvalidArgument);
}

TEST_F(DmaMapTest, LastPageOfTheAddressSpaceCanBeMappedAndUnmapped) {
  const GuestAddr last_page{kTop - kPageBytes + 1};
  ASSERT_TRUE(memory_.map(ram_.fd(), 0, last_page, kPageBytes, Rights::kReadWrite));
  EXPECT_TRUE(memory_.read<Le64>(GuestAddr{kTop - 7}));
  EXPECT_FALSE(memory_.read<Le64>(GuestAddr{kTop - 6}));
  memory_.unmap(last_page, kPageBytes);
  EXPECT_FALSE(memory_.read<Le64>(GuestAddr{kTop - 7}));
}

TEST_F(DmaMapTest, RefusesRangesBeyondTheEndOfTheFile) {
  EXPECT_EQ(refusal(map_pages(0, kPages + 1)), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(map_pages(kPages, 1)), Errc::kInvalidArgument);
  EXPECT_EQ(
      refusal(memory_.map(ram_.fd(), std::uint64_t{1} << 62, page(0), kPageBytes, Rights::kRead)),
      Errc::kInvalidArgument);
  EXPECT_TRUE(map_pages(kPages - 1, 1));
}

TEST_F(DmaMapTest, RefusesRangesThatOverlap) {
  ASSERT_TRUE(map_pages(4, 4));
  EXPECT_EQ(refusal(map_pages(4, 4)), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(map_pages(3, 2)), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(map_pages(7, 1)), Errc::kInvalidArgument);
  EXPECT_EQ(refusal(map_pages(0, kPages)), Errc::kInvalidArgument);
  EXPECT_TRUE(map_pages(3, 1));
  EXPECT_TRUE(map_pages(8, 1));
}

TEST_F(DmaMapTest, UnmapIsRangeSubtraction) {
  ASSERT_TRUE(map_pages(0, 8));
  ASSERT_TRUE(map_pages(8, 8));
  memory_.unmap(page(2), 2 * kPageBytes);
  EXPECT_EQ(readable(), "01..456789012345");
  memory_.unmap(page(6), 4 * kPageBytes);
  EXPECT_EQ(readable(), "01..45....012345");
  memory_.unmap(page(15), 100 * kPageBytes);
  EXPECT_EQ(readable(), "01..45....01234.");
  memory_.unmap(GuestAddr{0}, page(1).value);
  EXPECT_EQ(readable(), ".1..45....01234.");
  EXPECT_EQ(memory_.usage().ranges, 3u);
}

// The map remembers the range that it found last.
TEST_F(DmaMapTest, TheRangeThatWasUsedLastIsGoneOnceItIsUnmapped) {
  ASSERT_TRUE(map_pages(0, 4));
  ASSERT_TRUE(map_pages(8, 4));
  ASSERT_TRUE(memory_.read<Le64>(page(9)));
  memory_.unmap(page(8), 4 * kPageBytes);
  EXPECT_EQ(memory_.read<Le64>(page(9)).error().code, Errc::kBadState);
  ASSERT_TRUE(memory_.read<Le64>(page(1)));
  memory_.unmap_all();
  EXPECT_EQ(memory_.write(page(1), Le64(5)).error().code, Errc::kBadState);
  ASSERT_TRUE(map_pages(1, 1));
  EXPECT_TRUE(memory_.write(page(1), Le64(5)));
  EXPECT_FALSE(memory_.read<Le64>(page(2)));
}

TEST_F(DmaMapTest, PartsThatAreLeftShowTheSameBytes) {
  for (std::uint64_t i = 0; i < kPages; ++i) ram_.write(page(i), Le64(100 + i));
  ASSERT_TRUE(map_pages(0, kPages));
  memory_.unmap(page(5), kPageBytes);
  EXPECT_EQ(memory_.read<Le64>(page(4))->get(), 104u);
  EXPECT_EQ(memory_.read<Le64>(page(6))->get(), 106u);
  EXPECT_EQ(memory_.read<Le64>(page(15))->get(), 115u);
}

TEST_F(DmaMapTest, UnmapOfNothingIsNoError) {
  memory_.unmap(page(0), kPageBytes);
  memory_.unmap(page(0), 0);
  ASSERT_TRUE(map_pages(4, 4));
  memory_.unmap(page(0), 4 * kPageBytes);
  memory_.unmap(page(8), 4 * kPageBytes);
  EXPECT_EQ(readable(), "....4567........");
}

// The remainder of a range is whole pages, as every range is that map() takes: a state that is
// saved with it can be loaded.
TEST_F(DmaMapTest, PartsOfPagesAreUnmappedAsPages) {
  ASSERT_TRUE(map_pages(0, kPages));
  memory_.unmap(GuestAddr{page(4).value + 1}, 1);
  EXPECT_EQ(readable(), "0123.56789012345");
  memory_.unmap(GuestAddr{page(7).value + kPageBytes - 1}, 2);
  EXPECT_EQ(readable(), "0123.56..9012345");
  memory_.unmap(GuestAddr{page(15).value + 8}, kTop);
  EXPECT_EQ(readable(), "0123.56..901234.");
}

TEST_F(DmaMapTest, AbsurdUnmapsOfAVirtualIommuDoNotOverflow) {
  ASSERT_TRUE(map_pages(0, kPages));
  // What QEMU sends when a guest switches its IOMMU off.
  memory_.unmap(GuestAddr{0xfeeff000}, 0xffffffff01100000);
  EXPECT_EQ(readable(), "0123456789012345");
  memory_.unmap(page(8), 0xffffffff01100000);
  EXPECT_EQ(readable(), "01234567........");
  memory_.unmap(page(4), kTop);
  EXPECT_EQ(readable(), "0123............");
  memory_.unmap(GuestAddr{0}, kTop);
  EXPECT_EQ(memory_.usage().ranges, 0u);
}

TEST_F(DmaMapTest, SplittingIsBoundedByTheRangeLimit) {
  GuestMemory memory(GuestMemory::Limits{.ranges = 3});
  memory.set_dma_enabled(true);
  ASSERT_TRUE(memory.map(ram_.fd(), 0, page(0), kPages * kPageBytes, Rights::kRead));
  for (const std::uint64_t hole : {1u, 3u, 5u}) memory.unmap(page(hole), kPageBytes);
  EXPECT_EQ(memory.usage().ranges, 3u);
  EXPECT_TRUE(memory.read<Le64>(page(4)));
  EXPECT_FALSE(memory.read<Le64>(page(5)));
  EXPECT_FALSE(memory.read<Le64>(page(6)));  // lost: one hole too many
}

TEST_F(DmaMapTest, RangeLimitIsKept) {
  GuestMemory memory(GuestMemory::Limits{.ranges = 2});
  EXPECT_TRUE(memory.map(ram_.fd(), 0, page(0), kPageBytes, Rights::kRead));
  EXPECT_TRUE(memory.map(ram_.fd(), 0, page(1), kPageBytes, Rights::kRead));
  EXPECT_EQ(refusal(memory.map(ram_.fd(), 0, page(2), kPageBytes, Rights::kRead)),
            Errc::kResourceExhausted);
  EXPECT_EQ(refusal(memory.map(UniqueFd(), 0, page(2), kPageBytes, Rights::kRead)),
            Errc::kResourceExhausted);
}

TEST_F(DmaMapTest, ByteLimitCountsWholeFilesOnce) {
  GuestMemory memory(GuestMemory::Limits{.bytes = kPages * kPageBytes});
  EXPECT_TRUE(memory.map(ram_.fd(), 0, page(0), kPageBytes, Rights::kRead));
  EXPECT_TRUE(memory.map(ram_.fd(), kPageBytes, page(1), kPageBytes, Rights::kRead));
  EXPECT_EQ(memory.usage().mapped_file_bytes, kPages * kPageBytes);
  const TestMemory other(kPageBytes);
  EXPECT_EQ(refusal(memory.map(other.fd(), 0, page(2), kPageBytes, Rights::kRead)),
            Errc::kResourceExhausted);
}

TEST_F(DmaMapTest, HugeFileWithinASmallLimitIsRefusedUnmapped) {
  const TestMemory giant(std::uint64_t{1} << 40);
  GuestMemory memory(GuestMemory::Limits{.bytes = (std::uint64_t{1} << 40) - 1});
  EXPECT_EQ(refusal(memory.map(giant.fd(), 0, page(0), kPageBytes, Rights::kRead)),
            Errc::kResourceExhausted);
  EXPECT_EQ(memory.usage().files, 0u);
}

TEST_F(DmaMapTest, FileLimitEvictsWhatNobodyUses) {
  GuestMemory memory(GuestMemory::Limits{.files = 2});
  const TestMemory second(kPageBytes);
  const TestMemory third(kPageBytes);
  ASSERT_TRUE(memory.map(ram_.fd(), 0, page(0), kPageBytes, Rights::kRead));
  ASSERT_TRUE(memory.map(second.fd(), 0, page(1), kPageBytes, Rights::kRead));
  EXPECT_EQ(refusal(memory.map(third.fd(), 0, page(2), kPageBytes, Rights::kRead)),
            Errc::kResourceExhausted);
  memory.unmap(page(1), kPageBytes);
  EXPECT_EQ(memory.usage().files, 2u);  // kept for a while
  EXPECT_TRUE(memory.map(third.fd(), 0, page(2), kPageBytes, Rights::kRead));
  EXPECT_EQ(memory.usage().files, 2u);
}

TEST_F(DmaMapTest, RemapStormsOfFirmwareKeepOneMapping) {
  ASSERT_TRUE(map_pages(0, kPages));
  const std::byte* before = GuestMemoryPeer::view(memory_, page(3)).host;
  for (int i = 0; i < 100; ++i) {
    memory_.unmap(page(0), kPages * kPageBytes);
    memory_.expire_files(kStart + i * 50ms);
    ASSERT_TRUE(map_pages(0, 3));
    ASSERT_TRUE(map_pages(3, kPages - 3));
  }
  EXPECT_EQ(GuestMemoryPeer::view(memory_, page(3)).host, before);
  EXPECT_EQ(memory_.usage().files, 1u);
}

TEST_F(DmaMapTest, FileWithoutRangesIsUnmappedAfterAWhile) {
  ASSERT_TRUE(map_pages(0, kPages));
  memory_.expire_files(kStart);
  memory_.expire_files(kStart + 1h);
  EXPECT_EQ(memory_.usage().files, 1u);  // in use
  memory_.unmap(page(0), kPages * kPageBytes);
  memory_.expire_files(kStart + 2h);
  memory_.expire_files(kStart + 2h + 9s);
  EXPECT_EQ(memory_.usage().files, 1u);
  memory_.expire_files(kStart + 2h + 10s);
  EXPECT_EQ(memory_.usage().files, 0u);
  EXPECT_EQ(memory_.usage().mapped_file_bytes, 0u);
}

TEST_F(DmaMapTest, FileThatWasUsedInBetweenStartsAnew) {
  ASSERT_TRUE(map_pages(0, kPages));
  memory_.unmap(page(0), kPages * kPageBytes);
  memory_.expire_files(kStart);
  ASSERT_TRUE(map_pages(0, kPages));
  memory_.expire_files(kStart + 9s);
  memory_.unmap(page(0), kPages * kPageBytes);
  memory_.expire_files(kStart + 11s);
  EXPECT_EQ(memory_.usage().files, 1u);
}

TEST_F(DmaMapTest, DisconnectUnmapsFilesAtOnce) {
  ASSERT_TRUE(map_pages(0, kPages));
  memory_.unmap_all();
  EXPECT_EQ(memory_.usage().ranges, 0u);
  EXPECT_EQ(memory_.usage().files, 0u);
  EXPECT_EQ(readable(), "................");
}

}  // namespace
}  // namespace paravane
