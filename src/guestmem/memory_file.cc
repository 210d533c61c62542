#include "guestmem/memory_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/undo.h"
#include "guestmem/guest_addr.h"

namespace paravane {
namespace {

std::unexpected<Error> system_failure(const char* what) {
  const std::error_code error(errno, std::generic_category());
  return fail(Errc::kIo, std::string("guest memory: ") + what + ": " + error.message());
}

// Whether a mapping of this descriptor may be written.
bool may_write(int fd, int seals) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDWR &&
         (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0;
}

// It may have become shorter than `facts` say. hugetlbfs makes a file as long as what is mapped of
// it for writing; a mapping that becomes writable later leaves the VMM's file alone.
Result<std::byte*> map_whole(int fd, const MemoryFile::Facts& facts) {
  void* base = mmap(nullptr, facts.mapped_bytes(), PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) return system_failure("cannot map the file");
  if (facts.writable && mprotect(base, facts.mapped_bytes(), PROT_READ | PROT_WRITE) != 0) {
    const auto failure = system_failure("cannot map the file");
    munmap(base, facts.mapped_bytes());
    return failure;
  }
  // A crash of ours must not write guests' secrets to a disk. Only advice.
  (void)madvise(base, facts.mapped_bytes(), MADV_DONTDUMP);
  return static_cast<std::byte*>(base);
}

}  // namespace

Result<MemoryFile::Facts> MemoryFile::examine(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) {
    return fail(Errc::kUnsupported,
                "guest memory is not a file of tmpfs or hugetlbfs (use memory-backend-memfd)");
  }
  struct stat status{};
  if (fstat(fd, &status) != 0) return system_failure("fstat");
  struct statfs system{};
  if (fstatfs(fd, &system) != 0) return system_failure("fstatfs");
  const bool huge = system.f_type == HUGETLBFS_MAGIC;
  if (!S_ISREG(status.st_mode) || (system.f_type != TMPFS_MAGIC && !huge)) {
    return fail(Errc::kUnsupported, "guest memory is not a regular file of tmpfs or hugetlbfs");
  }
  Facts facts;
  facts.device = status.st_dev;
  facts.inode = status.st_ino;
  facts.size = static_cast<std::uint64_t>(status.st_size);
  // tmpfs says a huge st_blksize too where it may use huge pages; it maps small ones.
  facts.page_bytes = huge ? static_cast<std::uint64_t>(status.st_blksize)
                          : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (!std::has_single_bit(facts.page_bytes) || facts.page_bytes < kPageBytes) {
    return fail(Errc::kUnsupported, "guest memory has an impossible page size");
  }
  facts.writable = may_write(fd, seals);
  return facts;
}

Result<std::shared_ptr<MemoryFile>> MemoryFile::map(UniqueFd fd, const Facts& facts,
                                                    std::uint32_t number, MappingEnd end) {
  Result<std::byte*> base = map_whole(fd.get(), facts);
  if (!base) return std::unexpected(base.error());
  Undo unmap([&] { munmap(*base, facts.mapped_bytes()); });
  FailureWatch watch = FailureWatch::begin(
      {.start = *base, .size = facts.mapped_bytes(), .page_bytes = facts.page_bytes});
  if (!watch) {
    return fail(Errc::kResourceExhausted, "guest memory: too many files are mapped on this host");
  }
  std::unique_ptr<MemoryFile> file(
      new MemoryFile(std::move(fd), *base, facts, number, std::move(end), std::move(watch)));
  unmap.keep();
  return std::shared_ptr<MemoryFile>(std::move(file));
}

MemoryFile::MemoryFile(UniqueFd fd, std::byte* base, const Facts& facts, std::uint32_t number,
                       MappingEnd end, FailureWatch watch)
    : fd_(std::move(fd)),
      base_(base),
      facts_(facts),
      number_(number),
      end_(std::move(end)),
      watch_(std::move(watch)) {}

// The mapping goes last: the end of the last reference to a file frees its pages, which takes long.
MemoryFile::~MemoryFile() {
  fd_.reset();
  watch_ = FailureWatch();
  end_mapping();
}

// REQUIRES: not watched any more; nothing accesses it.
void MemoryFile::end_mapping() {
  EndedMapping ended(base_, facts_.mapped_bytes(), facts_.page_bytes, end_.among);
  if (end_.sink != nullptr) end_.sink->take(std::move(ended));
}

Status MemoryFile::remap(UniqueFd fd, const Facts& facts) {
  const Result<std::byte*> base = map_whole(fd.get(), facts);
  if (!base) return std::unexpected(base.error());
  watch_.move_to({.start = *base, .size = facts.mapped_bytes(), .page_bytes = facts.page_bytes});
  end_mapping();
  base_ = *base;
  facts_ = facts;
  fd_ = std::move(fd);
  return {};
}

}  // namespace paravane
