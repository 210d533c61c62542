#include "guestmem/memory_failure.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"
#include "guestmem/payload.h"
#include "testing/guest_memory_peer.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr std::uint64_t kPages = 64;

class MemoryFailureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(install_memory_failure_handler());
    ram_.show(memory_);
    other_ram_.show(other_);
  }

  GuestAddr page(std::uint64_t number) const { return {ram_.base().value + number * kPageBytes}; }
  // The line of /proc/self/maps for the mapping that starts here or before.
  static std::string mapping_at(const std::byte* host) {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line)) {
      const auto address = reinterpret_cast<std::uintptr_t>(host);
      const std::size_t dash = line.find('-');
      const auto first = std::stoull(line.substr(0, dash), nullptr, 16);
      const auto end = std::stoull(line.substr(dash + 1), nullptr, 16);
      if (first <= address && address < end) return line;
    }
    return {};
  }
  void expect_other_vm_unharmed() {
    EXPECT_FALSE(other_.failed());
    ASSERT_TRUE(other_.write(page(1), Le64(0x55)));
    EXPECT_EQ(other_.read<Le64>(page(1))->get(), 0x55u);
  }

  TestMemory ram_{kPages * kPageBytes};
  TestMemory other_ram_{kPages * kPageBytes};
  GuestMemory memory_;
  GuestMemory other_;
};

TEST_F(MemoryFailureTest, ReadOfShrunkenFileFailsAndNothingElseDoes) {
  ram_.truncate(4 * kPageBytes);
  EXPECT_TRUE(memory_.read<Le64>(page(3)));
  EXPECT_FALSE(memory_.failed());
  const Result<Le64> copy = memory_.read<Le64>(page(5));
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, Errc::kIo);
  EXPECT_TRUE(memory_.failed());
  expect_other_vm_unharmed();
}

TEST_F(MemoryFailureTest, WriteToShrunkenFileFails) {
  ram_.truncate(0);
  const Status written = memory_.write(page(0), Le64(1));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kIo);
  EXPECT_TRUE(memory_.failed());
  expect_other_vm_unharmed();
}

TEST_F(MemoryFailureTest, FailedFileStaysFailedForEveryAccess) {
  ram_.truncate(0);
  EXPECT_FALSE(memory_.read<Le64>(page(9)));
  ExtentList extents;
  EXPECT_EQ(memory_.resolve(page(0), 8, Rights::kRead, extents), Reach::kFailed);
  memory_.unmap(page(0), kPageBytes);
  ram_.truncate(kPages * kPageBytes);  // too late
  const Status again = memory_.map(ram_.fd(), 0, page(0), kPageBytes, Rights::kReadWrite);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kIo);
}

TEST_F(MemoryFailureTest, FailureIsKnownUntilTheVmmIsGone) {
  TestMemory ram(kPageBytes);
  GuestMemory memory;
  memory.set_dma_enabled(true);
  ASSERT_TRUE(memory.map(ram.fd(), 0, page(0), kPageBytes, Rights::kReadWrite));
  ram.truncate(0);
  EXPECT_FALSE(memory.read<Le64>(page(0)));
  memory.unmap(page(0), kPageBytes);
  memory.expire_files(Instant(std::chrono::hours(1)));
  memory.expire_files(Instant(std::chrono::hours(2)));
  EXPECT_TRUE(memory.failed());

  memory.unmap_all();
  EXPECT_FALSE(memory.failed());
  ram.truncate(kPageBytes);
  ASSERT_TRUE(memory.map(ram.fd(), 0, page(0), kPageBytes, Rights::kReadWrite));
  EXPECT_TRUE(memory.read<Le64>(page(0)));
}

TEST_F(MemoryFailureTest, PageListSeesTheFailureOnEveryWayIn) {
  const TestPages pages = ram_.scattered_pages(4);
  Result<PageList> list = PageList::from_directory(memory_, pages.directory, 4, Rights::kReadWrite);
  ASSERT_TRUE(list);
  ram_.truncate(0);
  std::uint32_t index = 77;
  EXPECT_EQ(list->load_index(8, index), Reach::kFailed);
  EXPECT_EQ(index, 77u);
  std::array<std::byte, 64> bytes{};
  EXPECT_EQ(list->copy_in(0, bytes), Reach::kFailed);
  EXPECT_EQ(list->copy_out(0, bytes), Reach::kFailed);
  EXPECT_EQ(list->store_index(12, 1), Reach::kFailed);
  ExtentList extents;
  EXPECT_EQ(list->resolve(0, 8, Rights::kRead, extents), Reach::kFailed);
  expect_other_vm_unharmed();
}

TEST_F(MemoryFailureTest, FirstStoreOfAPageListIsNoticed) {
  const TestPages pages = ram_.contiguous_pages(1);
  Result<PageList> list = PageList::from_directory(memory_, pages.directory, 1, Rights::kReadWrite);
  ASSERT_TRUE(list);
  ram_.truncate(0);
  EXPECT_EQ(list->store_index(12, 1), Reach::kFailed);
  EXPECT_TRUE(memory_.failed());
}

TEST_F(MemoryFailureTest, DirectoryThatVanishesFailsTheRegistration) {
  const TestPages pages = ram_.contiguous_pages(1);
  ram_.truncate(0);
  const Result<PageList> list =
      PageList::from_directory(memory_, pages.directory, 1, Rights::kReadWrite);
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, Errc::kIo);
}

TEST_F(MemoryFailureTest, PayloadFromOrToFailedMemorySaysSo) {
  ExtentList mine;
  ExtentList others;
  ASSERT_EQ(memory_.resolve(page(0), 16 * kPageBytes, Rights::kReadWrite, mine), Reach::kOk);
  ASSERT_EQ(other_.resolve(page(0), 16 * kPageBytes, Rights::kReadWrite, others), Reach::kOk);
  ASSERT_TRUE(copy_payload(mine, others));
  ram_.truncate(8 * kPageBytes);
  EXPECT_FALSE(copy_payload(mine, others));
  EXPECT_TRUE(memory_.failed());
  EXPECT_FALSE(copy_payload(others, mine));
  std::array<std::byte, 64> bytes{};
  ExtentList start;
  ASSERT_EQ(other_.resolve(page(0), 64, Rights::kReadWrite, start), Reach::kOk);
  EXPECT_TRUE(scatter_payload(bytes, start));
  EXPECT_TRUE(gather_payload(start, bytes));
  expect_other_vm_unharmed();
}

// One signal per file, not one per page.
TEST_F(MemoryFailureTest, WholeMappingIsReplacedAtTheFirstFailure) {
  TestMemory ram(kPages * kPageBytes);
  GuestMemory memory;
  memory.set_dma_enabled(true);
  ASSERT_TRUE(memory.map(ram.fd(), 0, page(0), ram.size(), Rights::kReadWrite));
  const std::byte* host = GuestMemoryPeer::view(memory, page(0)).host;
  EXPECT_NE(mapping_at(host).find("memfd"), std::string::npos);
  ram.truncate(0);
  EXPECT_FALSE(memory.read<Le64>(page(40)));
  EXPECT_EQ(mapping_at(host).find("memfd"), std::string::npos);
}

TEST_F(MemoryFailureTest, HundredsOfFailuresInARow) {
  for (int i = 0; i < 300; ++i) {
    TestMemory ram(8 * kPageBytes);
    GuestMemory memory;
    ram.show(memory);
    ASSERT_TRUE(memory.write(page(1), Le64(1)));
    ram.truncate(kPageBytes);
    ASSERT_FALSE(memory.write(page(1), Le64(1)));
    ASSERT_TRUE(memory.failed());
  }
  expect_other_vm_unharmed();
}

TEST_F(MemoryFailureTest, EmptyHugePagePoolIsSurvived) {
  constexpr std::uint64_t kHuge = 2 << 20;
  const std::uint64_t huge_files = 8;
  for (std::uint64_t i = 0; i < huge_files; ++i) {
    std::optional<UniqueFd> file = TestMemory::huge_file(2 * kHuge);
    if (!file) break;  // a kernel without hugetlbfs
    const UniqueFd same(fcntl(file->get(), F_DUPFD_CLOEXEC, 0));
    GuestMemory memory;
    memory.set_dma_enabled(true);
    ASSERT_TRUE(memory.map(std::move(*file), 0, page(0), 2 * kHuge, Rights::kReadWrite));
    // With pages in the pool this succeeds; then the file is cut instead.
    if (memory.write(page(1), Le64(1))) {
      ASSERT_EQ(ftruncate(same.get(), 0), 0);
    }
    const Status written = memory.write(page(2), Le64(1));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Errc::kIo);
    EXPECT_TRUE(memory.failed());
  }
  expect_other_vm_unharmed();
}

// A file of our own that GuestMemory knows nothing of.
void touch_unknown_shrunken_file() {
  const UniqueFd file(memfd_create("unknown", MFD_CLOEXEC));
  if (ftruncate(file.get(), kPageBytes) != 0) _exit(0);
  void* mapped = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED || ftruncate(file.get(), 0) != 0) _exit(0);
  *static_cast<volatile char*>(mapped) = 1;
  _exit(0);
}

using MemoryFailureDeathTest = MemoryFailureTest;

TEST_F(MemoryFailureDeathTest, BusErrorOfOtherMemoryEndsTheProcessAsBefore) {
  EXPECT_DEATH(touch_unknown_shrunken_file(), "");
}

TEST_F(MemoryFailureDeathTest, BusErrorThatWasSentEndsTheProcessAsBefore) {
  EXPECT_DEATH(raise(SIGBUS), "");
}

// Leaves no room for a second mapping of the file's size, then loses the file.
[[noreturn]] void fail_without_address_space() {
  TestMemory ram(std::uint64_t{256} << 20);
  GuestMemory memory;
  ram.show(memory);
  std::vector<std::byte> bytes(64 * kPageBytes);  // 64 failures in one access
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t now = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (64 << 20);
  const rlimit limit{now, now};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(1);
  ram.truncate(0);
  if (memory.copy_in(TestMemory::kBase, bytes)) _exit(2);
  _exit(memory.failed() ? 42 : 3);
}

TEST_F(MemoryFailureDeathTest, FailureIsSurvivedWithoutAddressSpaceForTheWholeFile) {
  EXPECT_EXIT(fail_without_address_space(), ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace paravane
