// CallSlot: an access to a device's registers by a vCPU on another core, in one
// cache line: the guest's thread writes what it wants, the worker writes that it
// is done. It stands where a VMM and its socket stand otherwise.
//
// One caller, one server, on different threads.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/cores.h"

namespace paravane::bench {

class CallSlot {
 public:
  enum class Kind : std::uint32_t { kRead, kWrite };
  struct Call {
    Kind kind = Kind::kRead;
    std::uint32_t bar = 0;
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
    std::byte value[8] = {};

    std::span<std::byte> bytes() { return {value, size}; }
  };

  // Caller: waits until the server has finished; `call.value` holds what was read.
  void run(Call& call) {
    call_ = call;
    const std::uint32_t number = asked_.load(std::memory_order_relaxed) + 1;
    asked_.store(number, std::memory_order_release);
    while (finished_.load(std::memory_order_acquire) != number) pause_core();
    call = call_;
  }

  // ---- Server ----
  bool waiting() const { return asked_.load(std::memory_order_acquire) != taken_; }
  // REQUIRES: waiting(). Finish it before the next is taken.
  Call& take() {
    ++taken_;
    return call_;
  }
  void finish() { finished_.store(taken_, std::memory_order_release); }

 private:
  alignas(64) Call call_;
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::uint32_t> finished_{0};
  alignas(64) std::uint32_t taken_ = 0;  // the server's own
};

}  // namespace paravane::bench
