// MemoryFile: one file of guest memory, mapped once and as a whole.
//
// The descriptor comes from the VMM and can refer to any file. Only tmpfs (which includes memfds)
// and hugetlbfs support seals, so the seals of the file are queried first. A file on FUSE or on a
// network file system is therefore refused before its server is contacted, and a server that hangs
// cannot block the daemon.
//
// The memory is neither prefaulted nor reserved, and never appears in a core dump. If it fails
// during an access (memory_failure.h), failed() returns true from then on.
//
// The descriptor stays open as long as the file is mapped, because another process may have to map
// the file in the place of this one.
//
// The DMA ranges and page lists that use a file share its ownership. Owner thread only.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guestmem/ended_mapping.h"
#include "guestmem/memory_failure_table.h"

namespace paravane {

class MemoryFile {
 public:
  // The properties of a file at the moment.
  struct Facts {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t size = 0;
    std::uint64_t page_bytes = 0;  // the huge page's on hugetlbfs
    bool writable = false;

    // The size of a mapping of the whole file.
    std::uint64_t mapped_bytes() const { return (size + page_bytes - 1) & ~(page_bytes - 1); }
    bool holds(std::uint64_t offset, std::uint64_t bytes) const {
      return offset <= size && bytes <= size - offset;
    }
    bool same_file(const Facts& other) const {
      return device == other.device && inode == other.inode;
    }
  };

  // Errors: kUnsupported (not a regular file of tmpfs or hugetlbfs), kIo.
  static Result<Facts> examine(int fd);

  // Takes over the descriptor. `number` is returned by number(). REQUIRES: `facts` are those of the
  // file, but for a size that may be another; it is not 0. Errors: kIo, kResourceExhausted.
  static Result<std::shared_ptr<MemoryFile>> map(UniqueFd fd, const Facts& facts,
                                                 std::uint32_t number, MappingEnd end);

  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Maps the file again because it has grown or has become writable. Its host addresses change.
  // Takes over the descriptor, in place of the former. After an error, everything is unchanged.
  // Errors: kIo.
  Status remap(UniqueFd fd, const Facts& facts);

  // Stays this object's.
  int fd() const { return fd_.get(); }

  const Facts& facts() const { return facts_; }
  // A small number that no other file of the guest has at the same time. It serves as an index into
  // tables of files.
  std::uint32_t number() const { return number_; }
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  bool failed() const { return watch_.failed(); }

 private:
  MemoryFile(UniqueFd fd, std::byte* base, const Facts& facts, std::uint32_t number, MappingEnd end,
             FailureWatch watch);
  void end_mapping();

  UniqueFd fd_;
  std::byte* base_;
  Facts facts_;
  std::uint32_t number_;
  MappingEnd end_;
  FailureWatch watch_;
};

}  // namespace paravane
