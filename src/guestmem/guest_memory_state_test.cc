// A DMA map that is saved and loaded, with its files, into another process.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/guest_memory.h"
#include "guestmem/memory_failure.h"
#include "guestmem/page_list.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "testing/copied_descriptors.h"
#include "testing/edited_state.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

using namespace std::chrono_literals;
using state::Descriptors;
using state::Loading;
using state::Reader;
using state::Writer;
using testing::HasSubstr;

constexpr std::uint64_t kFilePages = 16;
constexpr std::uint16_t kFileRecord = 1;
constexpr std::uint16_t kRangesRecord = 3;
constexpr std::uint16_t kFileSizeRecord = 0x8005;

struct SavedMap {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> descriptors;
};

// As it lies in a state.
struct MapRange {
  Le64 iova;
  Le64 size;
  Le64 file_offset;
  Le32 file;
  std::uint8_t rights;
};

class GuestMemoryState : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(install_memory_failure_handler()); }
  static UniqueFd file_of(std::uint64_t pages) {
    UniqueFd file(memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(pages * kPageBytes)), 0);
    return file;
  }
  static UniqueFd copy_of(const UniqueFd& fd) {
    return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  }
  static UniqueFd read_only(const UniqueFd& fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  static GuestAddr page(std::uint64_t number) { return {number * kPageBytes}; }
  static std::size_t open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  Status map(const UniqueFd& file, std::uint64_t first, std::uint64_t at, std::uint64_t count,
             Rights rights = Rights::kReadWrite) {
    return memory_.map(file ? copy_of(file) : UniqueFd(), first * kPageBytes, page(at),
                       count * kPageBytes, rights);
  }
  static SavedMap save(const GuestMemory& memory) {
    Writer out;
    Descriptors descriptors;
    memory.save(out, descriptors);
    return {.bytes = out.take(), .descriptors = copied(descriptors)};
  }
  void load(SavedMap saved) { load_into(later_, std::move(saved)); }
  void load_into(GuestMemory& memory, SavedMap saved) {
    loading_ = {};
    Reader in(saved.bytes, loading_);
    Descriptors descriptors(std::move(saved.descriptors));
    memory.load(in, descriptors);
  }
  std::string why() const { return loading_.good() ? "" : loading_.status().error().message; }
  static void resize(const UniqueFd& file, std::uint64_t bytes) {
    ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  }
  static std::uint64_t size_of(const UniqueFd& file) {
    return static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END));
  }
  // As a program of before has it: it does not know the last record.
  static SavedMap without_sizes(SavedMap saved) {
    saved.bytes = without(saved.bytes, kFileSizeRecord);
    return saved;
  }
  // Why a state with these is refused, with as many descriptors of one file each. Without sizes, it
  // is one of an earlier program.
  std::string refusal_of(std::vector<MapRange> ranges, std::size_t files,
                         const std::vector<std::uint64_t>& sizes = {}) {
    Writer out;
    SavedMap saved;
    for (std::size_t i = 0; i < files; ++i) {
      out.number(state::Tag{kFileRecord}, i);
      saved.descriptors.push_back(file_of(kFilePages));
    }
    {
      const Writer::Group none(out, state::Tag{2});
      out.list(state::Tag{1}, std::vector<Le64>());
    }
    out.list(state::Tag{kRangesRecord}, ranges);
    out.flag(state::Tag{4}, true);
    for (const std::uint64_t size : sizes) out.number(state::Tag{kFileSizeRecord}, size);
    saved.bytes = out.take();
    GuestMemory memory(limits_);
    load_into(memory, std::move(saved));
    if (!loading_.good()) {
      EXPECT_EQ(memory.usage().ranges, 0u);
      EXPECT_EQ(memory.usage().files, 0u);
      EXPECT_FALSE(memory.dma_enabled());
    }
    return why();
  }
  static MapRange range(std::uint64_t at, std::uint64_t pages, std::uint32_t file) {
    return {.iova = Le64(at * kPageBytes),
            .size = Le64(pages * kPageBytes),
            .file_offset = {},
            .file = Le32(file),
            .rights = 3};
  }

  GuestMemory::Limits limits_{.bytes = 64 * kFilePages * kPageBytes, .ranges = 8, .files = 3};
  GuestMemory memory_{limits_};
  GuestMemory later_{limits_};
  Loading loading_;
};

TEST_F(GuestMemoryState, TheSameMemoryIsThere) {
  const UniqueFd first = file_of(kFilePages);
  const UniqueFd second = file_of(kFilePages);
  ASSERT_TRUE(map(first, 0, 100, 2));
  ASSERT_TRUE(map(second, 4, 50, 2));
  ASSERT_TRUE(map(first, 2, 10, 2, Rights::kRead));
  ASSERT_TRUE(map(UniqueFd(), 0, 300, 2));
  memory_.set_dma_enabled(true);
  ASSERT_TRUE(memory_.write(page(100), Le64(1)));
  ASSERT_TRUE(memory_.write(page(51), Le64(2)));
  const SavedMap saved = save(memory_);
  EXPECT_EQ(saved.descriptors.size(), 2u) << "each file once";
  load(save(memory_));
  EXPECT_EQ(why(), "");
  EXPECT_TRUE(later_.dma_enabled());
  EXPECT_EQ(later_.read<Le64>(page(100))->get(), 1u);
  EXPECT_EQ(later_.read<Le64>(page(51))->get(), 2u);
  EXPECT_TRUE(later_.read<Le64>(page(10)));
  EXPECT_FALSE(later_.write(page(10), Le64(3))) << "read-only";
  EXPECT_FALSE(later_.read<Le64>(page(300))) << "no file";
  EXPECT_FALSE(later_.read<Le64>(page(12)));
  EXPECT_TRUE(later_.has_range_without_file() == memory_.has_range_without_file());
  EXPECT_EQ(later_.usage().ranges, 4u);
  EXPECT_EQ(later_.usage().mapped_file_bytes, memory_.usage().mapped_file_bytes);
  ASSERT_TRUE(later_.write(page(100), Le64(4)));
  EXPECT_EQ(memory_.read<Le64>(page(100))->get(), 4u) << "one memory";
  EXPECT_EQ(save(later_).bytes, saved.bytes);
}

TEST_F(GuestMemoryState, AnEmptyMapIsSavedToo) {
  load(save(memory_));
  EXPECT_EQ(why(), "");
  EXPECT_EQ(later_.usage().ranges, 0u);
  EXPECT_FALSE(later_.dma_enabled());
}

TEST_F(GuestMemoryState, ItGoesOn) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, 8));
  memory_.set_dma_enabled(true);
  load(save(memory_));
  later_.unmap(page(102), 2 * kPageBytes);
  EXPECT_FALSE(later_.read<Le64>(page(102)));
  EXPECT_TRUE(later_.read<Le64>(page(104)));
  EXPECT_TRUE(later_.map(copy_of(file), 0, page(200), kPageBytes, Rights::kRead));
  EXPECT_EQ(later_.usage().files, 1u) << "the file is known";
}

// Requests wait for what is unmapped for a moment.
TEST_F(GuestMemoryState, WhatWasUnmappedIsExpectedBack) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, 8));
  memory_.set_dma_enabled(true);
  memory_.unmap(page(102), 2 * kPageBytes);
  load(save(memory_));
  ExtentList extents;
  EXPECT_EQ(later_.resolve(page(102), 8, Rights::kRead, extents), Reach::kAbsent);
  EXPECT_EQ(later_.resolve(page(90), 8, Rights::kRead, extents), Reach::kOutside);
  EXPECT_EQ(save(later_).bytes, save(memory_).bytes);
}

TEST_F(GuestMemoryState, AFileThatNoRangeShowsIsLeftOut) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, 8));
  memory_.unmap(page(100), 8 * kPageBytes);
  ASSERT_EQ(memory_.usage().files, 1u);
  EXPECT_TRUE(save(memory_).descriptors.empty());
}

TEST_F(GuestMemoryState, PageListsFindTheirMemory) {
  TestMemory ram(64 * kPageBytes);
  ram.show(memory_);
  const TestPages pages = ram.scattered_pages(8);
  ram.write(pages.pages[3], Le64(7));
  const PageList list =
      PageList::from_directory(memory_, pages.directory, 8, Rights::kReadWrite).value();
  load(save(memory_));
  Writer out;
  list.save(out);
  const auto bytes = out.take();
  Reader in(bytes, loading_);
  PageList loaded = PageList::load(in, later_, Rights::kReadWrite);
  EXPECT_EQ(why(), "");
  Le64 word;
  ASSERT_EQ(loaded.copy_in(3 * kPageBytes, std::as_writable_bytes(std::span(&word, 1))),
            Reach::kOk);
  EXPECT_EQ(word.get(), 7u);
}

TEST_F(GuestMemoryState, AReadOnlyFileStaysSo) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(memory_.map(read_only(file), 0, page(1), kPageBytes, Rights::kReadWrite));
  ASSERT_TRUE(memory_.map(read_only(file), 0, page(2), kPageBytes, Rights::kWrite));
  memory_.set_dma_enabled(true);
  load(save(memory_));
  EXPECT_EQ(why(), "");
  EXPECT_TRUE(later_.read<Le64>(page(1)));
  EXPECT_FALSE(later_.write(page(1), Le64(1)));
  EXPECT_FALSE(later_.read<Le64>(page(2)));
  EXPECT_EQ(save(later_).bytes, save(memory_).bytes);
}

// The VMM may have sealed it since.
TEST_F(GuestMemoryState, AFileThatCannotBeWrittenAnyMoreIsReadOnly) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 1, 1));
  memory_.set_dma_enabled(true);
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  load(save(memory_));
  EXPECT_EQ(why(), "");
  EXPECT_TRUE(later_.read<Le64>(page(1)));
  EXPECT_FALSE(later_.write(page(1), Le64(1)));
}

// The first descriptor cannot be written, the second can.
TEST_F(GuestMemoryState, TheDescriptorOfTheMappingIsSaved) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(memory_.map(read_only(file), 0, page(1), kPageBytes, Rights::kRead));
  ASSERT_TRUE(map(file, 0, 2, 1));
  memory_.set_dma_enabled(true);
  load(save(memory_));
  EXPECT_TRUE(later_.write(page(2), Le64(1)));
  EXPECT_FALSE(later_.write(page(1), Le64(1)));
}

// A VMM that cuts its file short must not keep its daemon from being replaced.
TEST_F(GuestMemoryState, AFileThatWasCutShortIsMappedAsItWas) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, kFilePages));
  memory_.set_dma_enabled(true);
  ASSERT_TRUE(memory_.write(page(100), Le64(5)));
  resize(file, kPageBytes);
  load(save(memory_));
  EXPECT_EQ(why(), "");
  EXPECT_EQ(later_.usage().mapped_file_bytes, kFilePages * kPageBytes);
  EXPECT_EQ(later_.read<Le64>(page(100))->get(), 5u);
  EXPECT_FALSE(later_.failed());
  EXPECT_EQ(save(later_).bytes, save(memory_).bytes);
  ExtentList extents;
  EXPECT_EQ(later_.resolve(page(101), 8, Rights::kRead, extents), Reach::kOk);
  EXPECT_FALSE(later_.read<Le64>(page(101))) << "what is cut off fails when it is used";
  EXPECT_TRUE(later_.failed());
  EXPECT_EQ(size_of(file), kPageBytes);
}

TEST_F(GuestMemoryState, AFileThatIsEmptyNowIsMappedAsItWas) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, 1));
  memory_.set_dma_enabled(true);
  resize(file, 0);
  load(save(memory_));
  EXPECT_EQ(why(), "");
  EXPECT_FALSE(later_.write(page(100), Le64(1)));
  EXPECT_TRUE(later_.failed());
  EXPECT_EQ(size_of(file), 0u);
}

TEST_F(GuestMemoryState, AFileThatHasGrownIsMappedAsItWasUntilARangeNeedsMore) {
  limits_.bytes = kFilePages * kPageBytes;
  GuestMemory later(limits_);
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, 1));
  memory_.set_dma_enabled(true);
  resize(file, 3 * kFilePages * kPageBytes);
  load_into(later, save(memory_));
  EXPECT_EQ(why(), "") << "it is within its limit, as it is mapped";
  EXPECT_EQ(later.usage().mapped_file_bytes, kFilePages * kPageBytes);
  EXPECT_TRUE(later.write(page(100), Le64(1)));
  load(save(memory_));
  EXPECT_TRUE(later_.map(copy_of(file), kFilePages * kPageBytes, page(200), kPageBytes,
                         Rights::kReadWrite));
  EXPECT_TRUE(later_.write(page(200), Le64(1)));
}

// The kernel makes such a file longer when it is mapped for writing.
TEST_F(GuestMemoryState, AFileOfHugePagesThatWasCutShortStaysSo) {
  constexpr std::uint64_t kHuge = 2 << 20;
  limits_.bytes = 2 * kHuge;
  GuestMemory before(limits_);
  GuestMemory after(limits_);
  const auto file = TestMemory::huge_file(2 * kHuge);
  if (!file) GTEST_SKIP() << "no hugetlbfs";
  ASSERT_TRUE(before.map(copy_of(*file), 0, page(0), 2 * kHuge, Rights::kReadWrite));
  resize(*file, kHuge);
  load_into(after, save(before));
  EXPECT_EQ(why(), "");
  EXPECT_EQ(after.usage().mapped_file_bytes, 2 * kHuge);
  EXPECT_EQ(size_of(*file), kHuge);
}

TEST_F(GuestMemoryState, AStateOfAnEarlierProgramHasTheSizesOfNow) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 100, 2));
  memory_.set_dma_enabled(true);
  load(without_sizes(save(memory_)));
  EXPECT_EQ(why(), "");
  EXPECT_TRUE(later_.write(page(101), Le64(1)));
  later_.unmap_all();
  later_.set_dma_enabled(false);
  resize(file, kPageBytes);
  GuestMemory last(limits_);
  load_into(last, without_sizes(save(memory_)));
  EXPECT_THAT(why(), HasSubstr("past the end"));
}

TEST_F(GuestMemoryState, AFileHasOneDescriptorAsLongAsItIsMapped) {
  const UniqueFd file = file_of(kFilePages);
  const std::size_t before = open_files();
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(map(file, i, i, 1));
  EXPECT_EQ(open_files(), before + 1);
  ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(2 * kFilePages * kPageBytes)), 0);
  memory_.unmap(page(0), kPageBytes);
  ASSERT_TRUE(map(file, kFilePages, 9, 1)) << "mapped again";
  EXPECT_EQ(open_files(), before + 1);
  memory_.unmap_all();
  EXPECT_EQ(open_files(), before);
}

// ---- States that lie ----

TEST_F(GuestMemoryState, WhatMapWouldRefuseIsRefused) {
  EXPECT_EQ(refusal_of({range(1, 2, 1), range(3, 2, 0), range(5, 1, 2)}, 2), "");
  EXPECT_THAT(refusal_of({range(1, 2, 0), range(2, 2, 0)}, 0), HasSubstr("overlaps"));
  EXPECT_THAT(refusal_of({range(1, 0, 0)}, 0), HasSubstr("empty"));
  EXPECT_THAT(refusal_of({range(UINT64_MAX / kPageBytes, 2, 0)}, 0), HasSubstr("wraps"));
  EXPECT_THAT(refusal_of({range(1, kFilePages + 1, 1)}, 1), HasSubstr("past the end"));
  MapRange odd = range(1, 1, 1);
  odd.file_offset = Le64(1);
  EXPECT_THAT(refusal_of({odd}, 1), HasSubstr("not page aligned"));
  odd = range(1, 1, 1);
  odd.file_offset = Le64(UINT64_MAX - kPageBytes + 1);
  EXPECT_NE(refusal_of({odd}, 1), "");
  EXPECT_THAT(refusal_of(std::vector<MapRange>(9, range(1, 1, 0)), 0), HasSubstr("more than"));
}

TEST_F(GuestMemoryState, LimitsHold) {
  EXPECT_EQ(refusal_of({range(1, 1, 1), range(2, 1, 2), range(3, 1, 3)}, 3), "");
  EXPECT_THAT(refusal_of({range(1, 1, 1), range(2, 1, 2), range(3, 1, 3), range(4, 1, 4)}, 4),
              HasSubstr("limited to 3 files"));
  limits_.bytes = kFilePages * kPageBytes;
  EXPECT_EQ(refusal_of({range(1, 1, 1)}, 1), "");
  EXPECT_THAT(refusal_of({range(1, 1, 1), range(2, 1, 2)}, 2), HasSubstr("limited to"));
}

TEST_F(GuestMemoryState, SizesOfAnEnemyAreBounded) {
  const std::uint64_t most = limits_.bytes;
  EXPECT_EQ(refusal_of({range(1, 1, 1)}, 1, {kPageBytes}), "");
  EXPECT_EQ(refusal_of({range(1, 2 * kFilePages, 1)}, 1, {most}), "") << "as if it was cut short";
  EXPECT_EQ(refusal_of({range(1, 1, 1)}, 1, {kPageBytes + 1}), "") << "no VMM has to fill pages";
  EXPECT_THAT(refusal_of({range(1, 2, 1)}, 1, {kPageBytes}), HasSubstr("past the end"));
  EXPECT_THAT(refusal_of({range(1, 1, 1)}, 1, {kPageBytes - 1}), HasSubstr("past the end"));
  for (const std::uint64_t size : {std::uint64_t{0}, most + 1, std::uint64_t{1} << 62,
                                   std::uint64_t{1} << 63, UINT64_MAX - kPageBytes, UINT64_MAX}) {
    EXPECT_THAT(refusal_of({range(1, 1, 1)}, 1, {size}), HasSubstr("such a size")) << size;
  }
  EXPECT_THAT(refusal_of({range(1, 1, 1), range(2, 1, 2)}, 2, {most, kPageBytes}),
              HasSubstr("limited to"));
  limits_.bytes = UINT64_MAX;
  for (const std::uint64_t size : {UINT64_MAX, UINT64_MAX - kPageBytes, std::uint64_t{1} << 62}) {
    EXPECT_NE(refusal_of({range(1, 1, 1)}, 1, {size}), "") << size;
  }
}

TEST_F(GuestMemoryState, EachFileHasASizeOrNone) {
  EXPECT_THAT(refusal_of({range(1, 1, 1), range(2, 1, 2)}, 2, {kPageBytes}), HasSubstr("its size"));
  EXPECT_THAT(refusal_of({range(1, 1, 1)}, 1, {kPageBytes, kPageBytes}), HasSubstr("its size"));
  EXPECT_THAT(refusal_of({range(1, 1, 0)}, 0, {kPageBytes}), HasSubstr("its size"));
}

TEST_F(GuestMemoryState, AListHasOneForm) {
  EXPECT_THAT(refusal_of({range(2, 1, 0), range(1, 1, 0)}, 0), HasSubstr("not in its place"));
  EXPECT_THAT(refusal_of({range(1, 1, 2), range(2, 1, 1)}, 2), HasSubstr("not in its place"));
  EXPECT_THAT(refusal_of({range(1, 1, 2)}, 1), HasSubstr("no such file"));
  EXPECT_THAT(refusal_of({range(1, 1, 1)}, 2), HasSubstr("has no range"));
  MapRange strong = range(1, 1, 1);
  strong.rights = 4;
  EXPECT_THAT(refusal_of({strong}, 1), HasSubstr("rights"));
}

TEST_F(GuestMemoryState, WhatIsNoMemoryIsRefused) {
  const UniqueFd file = file_of(kFilePages);
  ASSERT_TRUE(map(file, 0, 1, 1));
  const auto refusal = [&](UniqueFd other) {
    SavedMap saved = save(memory_);
    saved.descriptors[0] = std::move(other);
    load(std::move(saved));
    EXPECT_EQ(later_.usage().ranges, 0u);
    return why();
  };
  EXPECT_NE(refusal(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))), "");
  EXPECT_NE(refusal(UniqueFd(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC))), "");
  EXPECT_NE(refusal(UniqueFd(::eventfd(0, EFD_CLOEXEC))), "");
  EXPECT_NE(refusal(UniqueFd()), "");
  SavedMap empty = without_sizes(save(memory_));
  empty.descriptors[0] = file_of(0);
  load(std::move(empty));
  EXPECT_NE(why(), "");
  SavedMap other = save(memory_);
  other.descriptors[0] = file_of(1);
  load(std::move(other));
  EXPECT_EQ(why(), "") << "another file may be as good";
}

TEST_F(GuestMemoryState, AFileThatIsThereTwiceIsRefused) {
  const UniqueFd first = file_of(kFilePages);
  const UniqueFd second = file_of(kFilePages);
  ASSERT_TRUE(map(first, 0, 1, 1));
  ASSERT_TRUE(map(second, 0, 2, 1));
  SavedMap saved = save(memory_);
  saved.descriptors[1] = copy_of(first);
  load(std::move(saved));
  EXPECT_THAT(why(), HasSubstr("there twice"));
  saved = save(memory_);
  const std::uint16_t path[] = {kFileRecord};
  saved.bytes = edited(saved.bytes, path, to_number(1));  // both name the second
  load(std::move(saved));
  EXPECT_THAT(why(), HasSubstr("named twice"));
}

TEST_F(GuestMemoryState, ShortAndDamagedStatesAreRefusedAndLoseNothing) {
  const UniqueFd first = file_of(kFilePages);
  const UniqueFd second = file_of(kFilePages);
  ASSERT_TRUE(map(first, 0, 1, 4));
  ASSERT_TRUE(map(second, 0, 8, 4));
  ASSERT_TRUE(map(UniqueFd(), 0, 100, 4));
  memory_.unmap(page(2), kPageBytes);
  memory_.set_dma_enabled(true);
  const std::size_t size = save(memory_).bytes.size();
  const std::size_t of_earlier_program = without_sizes(save(memory_)).bytes.size();
  const std::size_t before = open_files();
  for (std::size_t cut = 0; cut < size; ++cut) {
    if (cut == of_earlier_program) continue;
    SavedMap saved = save(memory_);
    saved.bytes.resize(cut);
    load(std::move(saved));
    ASSERT_NE(why(), "") << cut;
    ASSERT_EQ(later_.usage().ranges, 0u);
    ASSERT_EQ(open_files(), before);
  }
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    SavedMap saved = save(memory_);
    for (int i = 0; i < 1 + round % 3; ++i) {
      saved.bytes[random() % size] = static_cast<std::byte>(random());
    }
    GuestMemory memory(limits_);
    load_into(memory, std::move(saved));
    if (why().empty()) {
      static_cast<void>(memory.read<Le64>(page(1)));
      static_cast<void>(memory.write(page(8), Le64(1)));
    } else {
      ASSERT_EQ(memory.usage().files, 0u);
    }
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace paravane
