// FailureWatch: the entry of one mapping in the table that the SIGBUS handler searches
// (memory_failure.h).
//
// The table has a fixed size and only lock-free atomics, so the handler may read it whatever code
// it interrupted. The owner of a mapping changes its entry only while no thread accesses that
// mapping; the handler looks up the mapping that the interrupted thread accesses, so it never
// needs an entry that is being changed.
//
// begin() may be called on any thread; a watch belongs to its owner.

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
    std::uint64_t page_bytes = 0;  // a power of two; what can be replaced alone
  };

  // A watch that watches nothing: the table is full.
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

  // The mapping has another place or size now. REQUIRES: watches something.
  void move_to(const Mapping& mapping);

  // Whether the memory failed under an access that this thread made before.
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
