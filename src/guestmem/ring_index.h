// RingIndex: the arithmetic of ring indices, exactly as the guest's driver does it
// (docs/device-spec.md, section 6).
//
// In a ring of n elements, an index counts modulo 2n, so that a full ring differs from an empty
// one. The two device rings have an n that is not a power of two (3072 and 1536), although the
// driver uses the same bit masks for them. Only the consecutive 1 bits at the low end of a mask
// then have an effect. depth() and period() take this into account.

#pragma once

#include <cstdint>

namespace paravane {

class RingIndex {
 public:
  // REQUIRES: 1 <= elements <= 2^30.
  explicit constexpr RingIndex(std::uint32_t elements)
      : n_(elements), mask_(low_ones(2 * elements - 1) - 1) {}

  constexpr std::uint32_t elements() const { return n_; }
  // Whether the driver considers the index valid.
  constexpr bool valid(std::uint32_t index) const { return (index & ~(2 * n_ - 1)) == 0; }
  // Whether counting from 0 with next() ever reaches the index. This is stricter than valid() if n
  // is not a power of two.
  constexpr bool reachable(std::uint32_t index) const { return index < period(); }
  constexpr std::uint32_t slot(std::uint32_t index) const { return index & (n_ - 1); }
  constexpr std::uint32_t next(std::uint32_t index) const { return (index + 1) & (2 * n_ - 1); }

  // The number of slots that are actually used, and the number of steps after which an index
  // repeats.
  constexpr std::uint32_t depth() const { return period() / 2; }
  constexpr std::uint32_t period() const { return mask_ + 1; }

  // The number of elements between head and tail. A correct guest never causes more than depth().
  constexpr std::uint32_t used(std::uint32_t tail, std::uint32_t head) const {
    return (tail - head) & mask_;
  }

 private:
  // The lowest zero bit of `mask`, which is 2^(number of consecutive one bits at its low end).
  static constexpr std::uint32_t low_ones(std::uint32_t mask) { return ~mask & (mask + 1); }
  std::uint32_t n_;
  std::uint32_t mask_;  // period() - 1, because each access to a ring needs it
};

}  // namespace paravane
