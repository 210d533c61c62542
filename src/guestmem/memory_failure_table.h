// FailureWatch: one mapping's entry in the table that the SIGBUS handler searches
// (memory_failure.h).
//
// The table has a fixed size and consists of lock-free atomics, so the handler can read it
// regardless of the code that was interrupted. The handler looks only for the mapping that the
// interrupted thread was accessing. The owner of a mapping changes the mapping's entry only while
// no thread accesses that mapping. The handler therefore never needs an entry that is being
// changed.
//
// Any thread may call begin(). A watch is then used by its owner thread only.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace paravane {

class FailureWatch {
 public:
  struct Mapping {
    std::byte* start = nullptr;
    std::uint64_t size = 0;
    std::uint64_t page_bytes = 0;  // a power of two; the smallest unit that can be replaced
  };

  // If the table is full, returns a watch without a mapping.
  static FailureWatch begin(const Mapping& mapping);

  FailureWatch() = default;
  ~FailureWatch() { end(); }
  FailureWatch(FailureWatch&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  FailureWatch& operator=(FailureWatch&& other) noexcept {
    end();
    slot_ = std::exchange(other.slot_, nullptr);
    return *this;
  }
  FailureWatch(const FailureWatch&) = delete;
  FailureWatch& operator=(const FailureWatch&) = delete;

  explicit operator bool() const { return slot_ != nullptr; }

  // Records the new place and size of the mapping. REQUIRES: the watch has a mapping.
  void move_to(const Mapping& mapping);

  // Whether the memory failed during an earlier access by this thread.
  bool failed() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // after the caller's copy
    return slot_ != nullptr && slot_->failed.load(std::memory_order_relaxed);
  }

 private:
  friend struct FailureTable;
  struct Slot {
    std::atomic<bool> used{false};
    std::atomic<bool> failed{false};
    std::atomic<std::uint32_t> version{0};  // odd while the next three change
    std::atomic<std::uintptr_t> start{0};
    std::atomic<std::uint64_t> size{0};
    std::atomic<std::uint64_t> page_bytes{0};
  };
  explicit FailureWatch(Slot* slot) : slot_(slot) {}
  static void store(Slot& slot, const Mapping& mapping);
  void end();

  Slot* slot_ = nullptr;
};

}  // namespace paravane
