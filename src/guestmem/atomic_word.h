// Atomic operations on a 64-bit word of guest memory, for the RDMA atomics of other VMs. The word
// is little-endian, as the guest sees it. The operations are atomic with respect to every other
// access to the word, including those of the guest's CPUs.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "guestmem/extent.h"

namespace paravane {

struct WordChange {
  enum class Kind : std::uint8_t { kFetchAndAdd, kCompareAndSwap };
  Kind kind = Kind::kFetchAndAdd;
  std::uint64_t operand = 0;  // what is added, or what the word is compared with
  std::uint64_t swap = 0;     // kCompareAndSwap: its new value if it was equal
};

// Returns the previous value of the word. nullopt: the memory failed (SIGBUS). REQUIRES: `at` has 8
// bytes, and its guest address is a multiple of 8.
std::optional<std::uint64_t> change_word(const Extent& at, const WordChange& change);

}  // namespace paravane
