// Capacity: how many blocks of which size a logical unit has (SBC-3, READ CAPACITY (10) and (16)).
//
// Refused, in words for an operator, is what cannot be served: no blocks, blocks that are not a
// power of two from 512 to 4096 bytes (520, say), and 2^63 bytes or more, because offsets of files
// are signed.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace paravane::scsi {

inline constexpr std::uint32_t kLeastBlockBytes = 512;
inline constexpr std::uint32_t kMostBlockBytes = 4096;

struct Capacity {
  std::uint64_t blocks = 0;
  std::uint32_t block_bytes = 0;
  bool is_thin = false;                // blocks can be given back (LBPME)
  bool unmapped_reads_zero = false;    // blocks that were given back are zeros (LBPRZ)
  std::uint8_t physical_exponent = 0;  // 2 to this power: blocks of a physical block

  std::uint64_t bytes() const { return blocks * block_bytes; }
  friend bool operator==(const Capacity&, const Capacity&) = default;
};

// What is not refused; of the two below, each asks this.
Status check_capacity(std::uint64_t blocks, std::uint32_t block_bytes);

// nullopt: there are more blocks than the answer can say; READ CAPACITY (16) does.
Result<std::optional<Capacity>> parse_capacity10(std::span<const std::byte> bytes);
Result<Capacity> parse_capacity16(std::span<const std::byte> bytes);

}  // namespace paravane::scsi
