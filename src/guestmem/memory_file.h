// MemoryFile: one file of guest memory, mapped once and as a whole.
//
// The descriptor comes from the VMM and may refer to anything. Its seals are queried first: only
// tmpfs (which includes memfds) and hugetlbfs support seals, and the kernel answers without asking
// a file system. So a descriptor of a FUSE or network file system whose server hangs cannot stop
// the daemon, neither here nor later in a page fault.
//
// Nothing is prefaulted or reserved, and no guest memory appears in a core dump. If the memory
// fails during an access (memory_failure.h), failed() returns true from then on.
//
// Held by a shared_ptr, because the DMA ranges and page lists that use it come and go in any
// order. Owner thread only.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "guestmem/ended_mapping.h"
#include "guestmem/memory_failure_table.h"

namespace paravane {

class MemoryFile {
 public:
  // What a descriptor shows at this moment.
  struct Facts {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t size = 0;
    std::uint64_t page_bytes = 0;  // the huge page's on hugetlbfs
    bool writable = false;

    // What a mapping of the whole file takes.
    std::uint64_t mapped_bytes() const { return (size + page_bytes - 1) & ~(page_bytes - 1); }
    bool same_file(const Facts& other) const {
      return device == other.device && inode == other.inode;
    }
  };

  // Errors: kUnsupported (not a regular file of tmpfs or hugetlbfs), kIo.
  static Result<Facts> examine(int fd);

  // The descriptor is not needed afterwards. REQUIRES: `facts` are the file's;
  // size is not 0. Errors: kIo, kResourceExhausted.
  // `number` is for number() alone.
  static Result<std::shared_ptr<MemoryFile>> map(int fd, const Facts& facts, std::uint32_t number,
                                                 MappingEnd end);

  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Maps the file again because it grew or may be written now. Addresses move.
  // On failure everything is as it was. Errors: kIo.
  Status remap(int fd, const Facts& facts);

  const Facts& facts() const { return facts_; }
  // Small, and of this file alone among those that its guest has at a time: the place of
  // the file in a table of files.
  std::uint32_t number() const { return number_; }
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  bool failed() const { return watch_.failed(); }

 private:
  MemoryFile(std::byte* base, const Facts& facts, std::uint32_t number, MappingEnd end,
             FailureWatch watch);
  void end_mapping();

  std::byte* base_;
  Facts facts_;
  std::uint32_t number_;
  MappingEnd end_;
  FailureWatch watch_;
};

}  // namespace paravane
