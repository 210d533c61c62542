// Record: the unit in which a channel between two hosts is written and read.
//
//   head (128 bytes)          a header of 32 bytes and the first 96 of the block
//   rest of the block         frames (wire/frames.h), the end padded with zeros
//   direct payload            of the block's last frame; may be absent
//   trailer                   only after direct payload: whether it is good
//
// A reader knows before each read how much follows and of which kind, so payload goes from the
// socket straight to its destination and nothing is read ahead into a buffer; a short message
// takes one read. docs/tcp-channel.md has a worked example.
//
// Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/wire_int.h"

namespace paravane::wire {

inline constexpr std::size_t kHeadBytes = 128;
inline constexpr std::size_t kMaxBlockBytes = std::size_t{16} * 1024;
inline constexpr std::size_t kMaxDirectBytes = std::size_t{256} * 1024;

struct RecordHeader {
  Le32 block_bytes;   // kMinBlockBytes..kMaxBlockBytes
  Le32 direct_bytes;  // 0..kMaxDirectBytes
  Le64 reserved;      // 0
  // Of this header without the tag, and the block; 0 on an encrypted channel.
  std::array<std::byte, 16> tag{};
};
static_assert(sizeof(RecordHeader) == 32);

// Payload is read from a guest's memory while it is sent, and that may vanish meanwhile:
// then something else is sent in its place, and this says so.
struct RecordTrailer {
  Le32 verdict;     // kGood or kVoid
  Le32 digest{};    // CRC-32C of the payload, on a channel that seals frames alone; else 0
  Le64 reserved{};  // 0
  // As the header's, of what is before it, and of the payload before that where that is sealed.
  std::array<std::byte, 16> tag{};
};
static_assert(sizeof(RecordTrailer) == 32);

// All but the tag.
inline std::span<const std::byte> sealed_part(const RecordTrailer& trailer) {
  return std::as_bytes(std::span(&trailer, 1)).first(sizeof trailer - sizeof trailer.tag);
}
inline constexpr std::uint32_t kGood = 1;
inline constexpr std::uint32_t kVoid = 2;

inline constexpr std::size_t kMinBlockBytes = kHeadBytes - sizeof(RecordHeader);

// What a head says, checked. The tag is not judged here.
// nullopt: no record of ours can begin so.
std::optional<RecordHeader> read_header(std::span<const std::byte, kHeadBytes> head);

}  // namespace paravane::wire
