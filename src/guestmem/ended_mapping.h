// EndedMapping: a mapping of a guest's file that nothing can reach any more, but for
// the kernel's work of taking it down. That work grows with what was touched: 50 ms of
// processor time for each GiB, and 170 ms more where ours was the last mapping of the
// file, because its pages are freed then (a VMM that died). No turn of the worker has
// that, so the daemon has it done by a thread of its own.
//
// MappingSink: who has it done.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace paravane {

class EndedMapping {
 public:
  // REQUIRES: mapped, and of this object from now on. `page_bytes` is what the kernel can
  // unmap alone.
  EndedMapping(std::byte* start, std::uint64_t bytes, std::uint64_t page_bytes)
      : start_(start), bytes_(bytes), page_bytes_(page_bytes) {}
  // Takes down what is left.
  ~EndedMapping();
  EndedMapping(EndedMapping&& other) noexcept
      : start_(other.start_),
        bytes_(std::exchange(other.bytes_, 0)),
        page_bytes_(other.page_bytes_) {}
  EndedMapping& operator=(EndedMapping&&) = delete;

  // Takes down some of it, little enough that another thread which maps memory hardly
  // waits: the kernel lets one at a time change a process's mappings. False: that was
  // all. Any thread.
  bool take_down_some();

 private:
  std::byte* start_;
  std::uint64_t bytes_;
  std::uint64_t page_bytes_;
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

}  // namespace paravane
