// Request: a command for a logical unit, as a command descriptor block (CDB), with the direction
// and the length of its payload in bytes.
//
// Each function makes one command (SPC-4, SBC-3). The length is that of the answer that is asked
// for at most, or that of the data that the command brings. Numbers are of blocks, not of bytes,
// where they are named so.
//
// Plain values and pure functions; any thread. Nothing is allocated.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/scsi/command.h"

namespace paravane::scsi {

using Cdb = std::array<std::byte, wire::scsi::kCdbBytes>;

enum class Direction : std::uint8_t {
  kNone,
  kIn,   // the target writes into our memory
  kOut,  // the target reads from our memory
};

struct Request {
  Cdb cdb{};
  Direction direction = Direction::kNone;
  std::uint32_t bytes = 0;

  friend bool operator==(const Request&, const Request&) = default;
};

// Some blocks of a logical unit, in its own block size.
struct BlockRange {
  std::uint64_t block = 0;
  std::uint32_t blocks = 0;

  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

// Lengths of answers to ask for: what is read of them fits.
inline constexpr std::uint16_t kInquiryBytes = 36;
inline constexpr std::uint16_t kVitalPageBytes = 1024;
inline constexpr std::uint8_t kModeBytes6 = 192;
inline constexpr std::uint16_t kModeBytes10 = 512;

Request test_unit_ready();
Request inquiry(std::uint16_t bytes = kInquiryBytes);
Request inquiry_page(std::uint8_t page, std::uint16_t bytes = kVitalPageBytes);
// REQUIRES: bytes >= 16.
Request report_luns(std::uint32_t bytes);
Request read_capacity10();
Request read_capacity16();
// A page of mode parameters with their current values, without block descriptors.
Request mode_sense6(std::uint8_t page, std::uint8_t bytes = kModeBytes6);
Request mode_sense10(std::uint8_t page, std::uint16_t bytes = kModeBytes10);

// REQUIRES: range.blocks > 0, and their bytes fit 32 bits.
Request read(const BlockRange& range, std::uint32_t block_bytes);
enum class Durability : std::uint8_t {
  kCached,    // until the next synchronize_cache()
  kOnMedium,  // before the answer (FUA)
};
Request write(const BlockRange& range, std::uint32_t block_bytes, Durability durability);
// Blocks from `range.block` on; 0 blocks: all that follow.
Request synchronize_cache(const BlockRange& range = {});

// Writes zeros: the payload is one block, of zeros, and may be in no other state while it runs.
// REQUIRES: range.blocks > 0, because 0 would mean the rest of the logical unit.
enum class Unmapping : std::uint8_t { kNever, kAllowed };
Request write_zeroes(const BlockRange& range, std::uint32_t block_bytes, Unmapping unmapping);

// Gives blocks back. The payload is a list, which write_unmap_list() makes.
inline constexpr std::size_t kMostUnmapRanges = 4095;  // a length of 16 bits
constexpr std::size_t unmap_list_bytes(std::size_t ranges) {
  return sizeof(wire::scsi::UnmapHeader) + ranges * sizeof(wire::scsi::UnmapDescriptor);
}
// REQUIRES: 0 < ranges <= kMostUnmapRanges.
Request unmap(std::size_t ranges);
// REQUIRES: `to` has unmap_list_bytes(ranges.size()).
void write_unmap_list(std::span<const BlockRange> ranges, std::span<std::byte> to);

}  // namespace paravane::scsi
