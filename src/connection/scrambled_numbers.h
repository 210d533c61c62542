// ScrambledNumbers: numbers of 32 bits that do not repeat before all others have been handed out,
// and transaction IDs. A peer that has seen some cannot tell the next ones without the seed.
//
// This is not cryptography: it makes blind guesses useless, and keeps the numbers of this run apart
// from those of the run before, which a peer may still remember. A plain value; the thread of its
// owner.

#pragma once

#include <cstdint>

namespace paravane::connection {

class ScrambledNumbers {
 public:
  // `seed` should be random.
  explicit constexpr ScrambledNumbers(std::uint64_t seed) : seed_(seed) {}

  // Not 0.
  constexpr std::uint32_t next() {
    std::uint32_t number = 0;
    while (number == 0) number = scramble(counter_++);
    return number;
  }
  constexpr std::uint64_t next_transaction() { return mix(~seed_ + ++transactions_); }

 private:
  // A Feistel network of four rounds: each number comes from one other.
  constexpr std::uint32_t scramble(std::uint32_t number) const {
    std::uint32_t left = number >> 16;
    std::uint32_t right = number & 0xFFFF;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint32_t old_left = left;
      left = right;
      right = old_left ^ static_cast<std::uint32_t>(mix(seed_ ^ (round << 32) ^ right) >> 48);
    }
    return (left << 16) | right;
  }
  // SplitMix64's.
  static constexpr std::uint64_t mix(std::uint64_t value) {
    value += 0x9E37'79B9'7F4A'7C15;
    value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9;
    value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EB;
    return value ^ (value >> 31);
  }

  std::uint64_t seed_;
  std::uint32_t counter_ = 0;
  std::uint64_t transactions_ = 0;
};

}  // namespace paravane::connection
