#include "guestmem/payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "guestmem/page_list.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 256;

// Two VMs with a region of 64 scattered pages each.
class PayloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    from_ram_.show(from_memory_);
    to_ram_.show(to_memory_);
    from_pages_ = from_ram_.scattered_pages(64);
    to_pages_ = to_ram_.scattered_pages(64);
    from_list_ = take_in(from_memory_, from_pages_);
    to_list_ = take_in(to_memory_, to_pages_);
    for (std::uint64_t i = 0; i < from_pages_.count() * kPageBytes; ++i) {
      from_ram_.write(from_pages_.at(i), pattern(i));
    }
  }

  static PageList take_in(GuestMemory& memory, const TestPages& pages) {
    return PageList::from_directory(memory, pages.directory, pages.count(), Rights::kReadWrite)
        .value();
  }
  static std::uint8_t pattern(std::uint64_t i) { return static_cast<std::uint8_t>(1 + i % 251); }

  // One extent per `piece` bytes, or fewer where a page ends.
  static ExtentList cut(PageList& list, std::uint64_t offset, std::uint64_t size,
                        std::uint64_t piece) {
    ExtentList extents;
    for (std::uint64_t done = 0; done < size; done += piece) {
      EXPECT_EQ(
          list.resolve(offset + done, std::min(piece, size - done), Rights::kReadWrite, extents),
          Reach::kOk);
    }
    return extents;
  }
  // Bytes [offset, offset+size) of the target are the source's from `source`,
  // and those around them untouched.
  void expect_copied(std::uint64_t source, std::uint64_t offset, std::uint64_t size) {
    EXPECT_EQ(to_ram_.read<std::uint8_t>(to_pages_.at(offset - 1)), 0);
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_EQ(to_ram_.read<std::uint8_t>(to_pages_.at(offset + i)), pattern(source + i)) << i;
    }
    EXPECT_EQ(to_ram_.read<std::uint8_t>(to_pages_.at(offset + size)), 0);
    for (std::uint64_t i = 0; i < size; ++i) {
      to_ram_.write(to_pages_.at(offset + i), std::uint8_t{0});
    }
  }

  TestMemory from_ram_{kPages * kPageBytes};
  TestMemory to_ram_{kPages * kPageBytes};
  GuestMemory from_memory_;
  GuestMemory to_memory_;
  TestPages from_pages_;
  TestPages to_pages_;
  PageList from_list_;
  PageList to_list_;
};

TEST_F(PayloadTest, EverySmallSizeAtEveryAlignmentArrives) {
  for (std::uint64_t size = 1; size <= 130; ++size) {
    for (std::uint64_t shift = 0; shift < 9; ++shift) {
      const std::uint64_t target = 4096 - 60 + shift;  // across a page
      const ExtentList from = cut(from_list_, 3 * shift, size, size);
      ASSERT_TRUE(copy_payload(from, cut(to_list_, target, size, size)));
      expect_copied(3 * shift, target, size);
    }
  }
}

TEST_F(PayloadTest, CutsOfTheTwoSidesNeedNotMeet) {
  std::mt19937_64 random(20240501);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t size = 1 + random() % (20 * kPageBytes);
    const std::uint64_t source = random() % (4 * kPageBytes);
    const std::uint64_t target = 1 + random() % (4 * kPageBytes);
    const std::uint64_t source_piece = 1 + random() % (size < 2000 ? size : 9000);
    const std::uint64_t target_piece = 1 + random() % (size < 2000 ? size : 9000);
    const ExtentList from = cut(from_list_, source, size, std::max(source_piece, size / 100));
    const ExtentList to = cut(to_list_, target, size, std::max(target_piece, size / 100));
    ASSERT_TRUE(copy_payload(from, to));
    expect_copied(source, target, size);
  }
}

TEST_F(PayloadTest, LargestSliceArrives) {
  constexpr std::uint64_t kSize = 60 * kPageBytes + 17;
  ASSERT_TRUE(copy_payload(cut(from_list_, 5, kSize, kSize), cut(to_list_, 9, kSize, kSize)));
  expect_copied(5, 9, kSize);
}

TEST_F(PayloadTest, NoBytesAreNoWork) {
  EXPECT_TRUE(copy_payload(ExtentList(), ExtentList()));
  EXPECT_TRUE(gather_payload(ExtentList(), {}));
  EXPECT_TRUE(scatter_payload({}, ExtentList()));
}

TEST_F(PayloadTest, GatherAndScatterMoveBytesOfOurs) {
  std::vector<std::byte> bytes(3 * kPageBytes + 77);
  ASSERT_TRUE(gather_payload(cut(from_list_, 11, bytes.size(), 1000), bytes));
  for (std::uint64_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(std::to_integer<std::uint8_t>(bytes[i]), pattern(11 + i));
  }
  ASSERT_TRUE(scatter_payload(bytes, cut(to_list_, 13, bytes.size(), 777)));
  expect_copied(11, 13, bytes.size());
}

TEST_F(PayloadTest, GuestMayNameTheSameMemoryTwice) {
  const ExtentList from = cut(from_list_, 0, 1000, 1000);
  const ExtentList to = cut(from_list_, 100, 1000, 1000);
  EXPECT_TRUE(copy_payload(from, to));
  EXPECT_EQ(from_ram_.read<std::uint8_t>(from_pages_.at(99)), pattern(99));
  EXPECT_EQ(from_ram_.read<std::uint8_t>(from_pages_.at(1100)), pattern(1100));
}

}  // namespace
}  // namespace paravane
