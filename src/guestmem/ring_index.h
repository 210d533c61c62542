// RingIndex: the index arithmetic of every PVRDMA ring, exactly as in the guest driver (device
// spec 6.2 and 6.3).
//
// For n elements, an index is counted modulo 2n and carries a generation bit. The two device rings
// have an n that is not a power of two (3072 and 1536), and the driver applies the same masks to
// it, so only the low run of one bits of the masks has an effect: period() and depth() are derived
// from that.

#pragma once

#include <cstdint>

namespace paravane {

class RingIndex {
 public:
  // REQUIRES: 1 <= elements <= 2^30.
  explicit constexpr RingIndex(std::uint32_t elements) : n_(elements) {}

  constexpr std::uint32_t elements() const { return n_; }
  // As the driver judges it.
  constexpr bool valid(std::uint32_t index) const { return (index & ~(2 * n_ - 1)) == 0; }
  // Whether counting from 0 with next() ever gets there: stricter than valid()
  // where n is not a power of two.
  constexpr bool reachable(std::uint32_t index) const { return index < period(); }
  constexpr std::uint32_t slot(std::uint32_t index) const { return index & (n_ - 1); }
  constexpr std::uint32_t next(std::uint32_t index) const { return (index + 1) & (2 * n_ - 1); }

  // Slots that are really used, and after how many steps an index returns.
  constexpr std::uint32_t depth() const { return low_ones(n_ - 1); }
  constexpr std::uint32_t period() const { return low_ones(2 * n_ - 1); }

  // Elements between head and tail. More than depth() is impossible for an
  // honest guest.
  constexpr std::uint32_t used(std::uint32_t tail, std::uint32_t head) const {
    return (tail - head) & (period() - 1);
  }

 private:
  // 2^(number of consecutive one bits at the low end): the lowest zero bit.
  static constexpr std::uint32_t low_ones(std::uint32_t mask) { return ~mask & (mask + 1); }
  std::uint32_t n_;
};

}  // namespace paravane
