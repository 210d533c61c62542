// EndedMapping: a mapping of a guest's file that is no longer reachable and only remains to be
// unmapped by the kernel. The cost of that grows with the memory that was touched: 50 ms of CPU
// time per GiB, plus 170 ms if this was the last mapping of the file (a VMM that died), because
// its pages are freed then. A worker's turn is too short for that, so a separate thread does it.
//
// EndingMappings: the mappings of one VM that still wait to be unmapped. They use up the daemon's
// address space, so a VM that maps and unmaps faster than the kernel can follow must be refused.
//
// MappingSink: unmaps them.

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
  // REQUIRES: mapped, and of this object from now on. `page_bytes` is what the kernel can
  // unmap alone. It counts in `among` until it is down.
  EndedMapping(std::byte* start, std::uint64_t bytes, std::uint64_t page_bytes,
               std::shared_ptr<EndingMappings> among);
  // Takes down what is left, all at once.
  ~EndedMapping() { take_down(bytes_); }
  EndedMapping(EndedMapping&& other) noexcept
      : start_(other.start_),
        bytes_(std::exchange(other.bytes_, 0)),
        page_bytes_(other.page_bytes_),
        among_(std::move(other.among_)) {}
  EndedMapping& operator=(EndedMapping&&) = delete;

  // Takes down some of it, little enough that another thread which maps memory hardly
  // waits: the kernel lets one at a time change a process's mappings. False: that was
  // all. Any thread.
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

  // On the thread that owned the mapping, which must not wait.
  virtual void take(EndedMapping mapping) = 0;
};

// How a mapping shall end.
struct MappingEnd {
  MappingSink* sink = nullptr;  // outlives the mapping; none: it is unmapped at once
  std::shared_ptr<EndingMappings> among = std::make_shared<EndingMappings>();
};

}  // namespace paravane
