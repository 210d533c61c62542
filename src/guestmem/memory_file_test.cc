#include "guestmem/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/wire_int.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"
#include "testing/guest_memory_peer.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

constexpr GuestAddr kBase = TestMemory::kBase;

class MemoryFileTest : public ::testing::Test {
 protected:
  MemoryFileTest() { memory_.set_dma_enabled(true); }

  Status map_first_page(UniqueFd file, Rights rights = Rights::kReadWrite) {
    return memory_.map(std::move(file), 0, kBase, kPageBytes, rights);
  }
  Errc refusal_of(UniqueFd file) {
    const Status status = map_first_page(std::move(file));
    EXPECT_FALSE(status.has_value());
    EXPECT_EQ(memory_.usage().ranges, 0u);
    return status ? Errc::kNotFound : status.error().code;
  }
  // Another descriptor of the same file.
  static UniqueFd reopen(const UniqueFd& file, int flags) {
    return UniqueFd(open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), flags));
  }

  GuestMemory memory_;
};

// A page in a file of the first directory that is no tmpfs.
UniqueFd file_on_disk() {
  for (const char* directory : {".", "/var/tmp", "/tmp", "/"}) {
    struct statfs system{};
    if (statfs(directory, &system) != 0 || system.f_type == TMPFS_MAGIC) continue;
    std::string path = std::string(directory) + "/guest-memory-test-XXXXXX";
    UniqueFd file(mkstemp(path.data()));
    if (!file) continue;
    unlink(path.c_str());
    if (ftruncate(file.get(), kPageBytes) == 0) return file;
  }
  return {};
}

TEST_F(MemoryFileTest, FileOnDiskIsRefused) {
  UniqueFd file = file_on_disk();
  ASSERT_TRUE(file);
  EXPECT_EQ(refusal_of(std::move(file)), Errc::kUnsupported);
}

TEST_F(MemoryFileTest, WhatIsNoFileAtAllIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd other_end(ends[1]);
  EXPECT_EQ(refusal_of(UniqueFd(ends[0])), Errc::kUnsupported);
  EXPECT_EQ(refusal_of(UniqueFd(socket(AF_UNIX, SOCK_STREAM, 0))), Errc::kUnsupported);
  EXPECT_EQ(refusal_of(UniqueFd(open("/dev/zero", O_RDWR))), Errc::kUnsupported);
  EXPECT_EQ(refusal_of(UniqueFd(open("/dev/shm", O_RDONLY | O_DIRECTORY))), Errc::kUnsupported);
  EXPECT_EQ(refusal_of(UniqueFd(open("/proc/self/maps", O_RDONLY))), Errc::kUnsupported);
}

TEST_F(MemoryFileTest, DescriptorThatCannotBeUsedIsRefused) {
  const TestMemory ram(kPageBytes);
  EXPECT_EQ(refusal_of(reopen(ram.fd(), O_PATH)), Errc::kUnsupported);
  EXPECT_EQ(refusal_of(reopen(ram.fd(), O_WRONLY)), Errc::kIo);
  UniqueFd closed = ram.fd();
  const int number = closed.release();
  close(number);
  EXPECT_EQ(refusal_of(UniqueFd(number)), Errc::kUnsupported);
}

TEST_F(MemoryFileTest, EmptyFileHasNothingToShow) {
  EXPECT_EQ(refusal_of(UniqueFd(memfd_create("empty", MFD_CLOEXEC))), Errc::kInvalidArgument);
}

TEST_F(MemoryFileTest, FileWithHalfAPageShowsOnlyWholePages) {
  UniqueFd file(memfd_create("odd", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), kPageBytes + 100), 0);
  EXPECT_FALSE(memory_.map(reopen(file, O_RDWR), 0, kBase, 2 * kPageBytes, Rights::kReadWrite));
  EXPECT_TRUE(map_first_page(std::move(file)));
  EXPECT_TRUE(memory_.write(kBase, Le64(1)));
}

TEST_F(MemoryFileTest, ReadOnlyDescriptorTakesTheRightToWrite) {
  const TestMemory ram(kPageBytes);
  ASSERT_TRUE(map_first_page(reopen(ram.fd(), O_RDONLY)));
  EXPECT_TRUE(memory_.read<Le64>(kBase));
  const Status written = memory_.write(kBase, Le64(1));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kInvalidArgument);
}

TEST_F(MemoryFileTest, FileSealedAgainstWritingCanBeRead) {
  UniqueFd file(memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), kPageBytes), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  ASSERT_TRUE(map_first_page(std::move(file)));
  EXPECT_TRUE(memory_.read<Le64>(kBase));
  EXPECT_FALSE(memory_.write(kBase, Le64(1)));
}

TEST_F(MemoryFileTest, WritableDescriptorThatComesLaterMakesTheFileWritable) {
  TestMemory ram(2 * kPageBytes);
  ASSERT_TRUE(map_first_page(reopen(ram.fd(), O_RDONLY)));
  const GuestAddr second{kBase.value + kPageBytes};
  ASSERT_TRUE(memory_.map(ram.fd(), kPageBytes, second, kPageBytes, Rights::kReadWrite));
  EXPECT_EQ(memory_.usage().files, 1u);
  EXPECT_TRUE(memory_.write(second, Le64(7)));
  EXPECT_EQ(ram.read<Le64>(second).get(), 7u);
  EXPECT_FALSE(memory_.write(kBase, Le64(7)));  // that range was read-only and stays so
}

TEST_F(MemoryFileTest, EveryDescriptorOfAFileIsTheSameFile) {
  const TestMemory ram(4 * kPageBytes);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(memory_.map(reopen(ram.fd(), O_RDWR), i * kPageBytes,
                            GuestAddr{kBase.value + i * kPageBytes}, kPageBytes,
                            Rights::kReadWrite));
  }
  EXPECT_EQ(memory_.usage().files, 1u);
  EXPECT_EQ(memory_.usage().ranges, 4u);
}

TEST_F(MemoryFileTest, FileThatGrewIsMappedAgainAndPageListsFollow) {
  TestMemory ram(8 * kPageBytes);
  ASSERT_TRUE(memory_.map(ram.fd(), 0, kBase, 8 * kPageBytes, Rights::kReadWrite));
  const TestPages pages = ram.scattered_pages(2);
  Result<PageList> list = PageList::from_directory(memory_, pages.directory, 2, Rights::kReadWrite);
  ASSERT_TRUE(list);
  ram.write(pages.at(kPageBytes), Le64(0x77));

  ram.truncate(std::uint64_t{1} << 30);
  const GuestAddr plugged{std::uint64_t{1} << 32};
  ASSERT_TRUE(memory_.map(ram.fd(), 8 * kPageBytes, plugged, (1 << 30) - 8 * kPageBytes,
                          Rights::kReadWrite));
  EXPECT_EQ(memory_.usage().files, 1u);
  EXPECT_EQ(memory_.usage().mapped_file_bytes, std::uint64_t{1} << 30);
  EXPECT_TRUE(memory_.write(GuestAddr{plugged.value + (1 << 29)}, Le64(5)));

  Le64 copy;
  ASSERT_EQ(list->copy_in(kPageBytes, std::as_writable_bytes(std::span(&copy, 1))), Reach::kOk);
  EXPECT_EQ(copy.get(), 0x77u);
}

TEST_F(MemoryFileTest, FileThatGrewBeyondTheLimitIsRefusedAndStillWorks) {
  GuestMemory memory(GuestMemory::Limits{.bytes = 4 * kPageBytes});
  memory.set_dma_enabled(true);
  TestMemory ram(4 * kPageBytes);
  ASSERT_TRUE(memory.map(ram.fd(), 0, kBase, 4 * kPageBytes, Rights::kReadWrite));
  ram.truncate(8 * kPageBytes);
  const Status status = memory.map(ram.fd(), 4 * kPageBytes, GuestAddr{kBase.value << 1},
                                   4 * kPageBytes, Rights::kReadWrite);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kResourceExhausted);
  EXPECT_TRUE(memory.write(kBase, Le64(1)));
}

TEST_F(MemoryFileTest, MappingStaysOutOfCoreDumps) {
  const TestMemory ram(kPageBytes);
  ASSERT_TRUE(map_first_page(ram.fd()));
  const auto start = reinterpret_cast<std::uintptr_t>(GuestMemoryPeer::view(memory_, kBase).host);
  char address[32];
  std::snprintf(address, sizeof(address), "%lx-", static_cast<unsigned long>(start));
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  while (std::getline(smaps, line) && !line.starts_with(address)) {
  }
  while (std::getline(smaps, line) && !line.starts_with("VmFlags:")) {
  }
  EXPECT_NE(line.find(" dd"), std::string::npos) << line;  // "do not dump"
}

TEST_F(MemoryFileTest, HugePageFileIsMappedWhateverTheOffset) {
  constexpr std::uint64_t kHuge = 2 << 20;
  std::optional<UniqueFd> file = TestMemory::huge_file(2 * kHuge);
  // A kernel without hugetlbfs has no such files to refuse either.
  const std::uint64_t files = file ? 1 : 0;
  if (file) {
    ASSERT_TRUE(memory_.map(reopen(*file, O_RDWR), 0, kBase, 0xc3000, Rights::kReadWrite));
    ASSERT_TRUE(memory_.map(std::move(*file), 0xc3000, GuestAddr{kBase.value + 0xc3000},
                            2 * kHuge - 0xc3000, Rights::kReadWrite));
    ExtentList extents;
    EXPECT_EQ(memory_.resolve(kBase, 2 * kHuge, Rights::kReadWrite, extents), Reach::kOk);
    EXPECT_EQ(extents.total_bytes(), 2 * kHuge);
  }
  EXPECT_EQ(memory_.usage().files, files);
  EXPECT_EQ(memory_.usage().mapped_file_bytes, files * 2 * kHuge);
}

}  // namespace
}  // namespace paravane
