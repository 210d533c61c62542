// EndedMapping: a mapping of a guest's memory file that is no longer used but still has to be
// unmapped. Unmapping takes about 50 ms of CPU time per GiB of touched memory. If this was the last
// mapping of the file, for example because the VMM has ended, unmapping takes another 170 ms per
// GiB, because the kernel then frees the pages. The worker thread cannot spend so much time, so
// another thread unmaps the memory.
//
// EndingMappings: the total size and number of one VM's mappings that wait to be unmapped. These
// mappings occupy the daemon's address space. If a VMM maps and unmaps faster than the kernel can
// unmap, further mappings are therefore refused.
//
// MappingSink: the interface to the code that unmaps the mappings. EndingMappings may be used by
// any thread.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace paravane {

// Any thread.
struct EndingMappings {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint32_t> count{0};
};

class EndedMapping {
 public:
  // `page_bytes`: the smallest unit that the kernel can unmap. The mapping counts in `among` until
  // it is unmapped. REQUIRES: the range is mapped, and this object owns it from now on.
  EndedMapping(std::byte* start, std::uint64_t bytes, std::uint64_t page_bytes,
               std::shared_ptr<EndingMappings> among);
  // Unmaps the rest at once.
  ~EndedMapping() { take_down(bytes_); }
  EndedMapping(EndedMapping&& other) noexcept
      : start_(other.start_),
        bytes_(std::exchange(other.bytes_, 0)),
        page_bytes_(other.page_bytes_),
        among_(std::move(other.among_)) {}
  EndedMapping& operator=(EndedMapping&&) = delete;

  // Unmaps a part that is small enough to delay other threads only briefly, because the kernel lets
  // only one thread at a time change the mappings of a process. False: everything is unmapped. Any
  // thread.
  bool take_down_some();

 private:
  void take_down(std::uint64_t slice);

  std::byte* start_;
  std::uint64_t bytes_;
  std::uint64_t page_bytes_;
  std::shared_ptr<EndingMappings> among_;
};

class MappingSink {
 public:
  MappingSink() = default;
  virtual ~MappingSink() = default;
  MappingSink(const MappingSink&) = delete;
  MappingSink& operator=(const MappingSink&) = delete;

  // Called on the thread that owned the mapping. Must not wait.
  virtual void take(EndedMapping mapping) = 0;
};

// How a mapping is unmapped.
struct MappingEnd {
  MappingSink* sink = nullptr;  // outlives the mapping; nullptr: unmapped at once
  std::shared_ptr<EndingMappings> among = std::make_shared<EndingMappings>();
};

}  // namespace paravane
