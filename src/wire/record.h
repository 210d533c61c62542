// Record is the unit in which a channel between two hosts is written and read:
//
//   head (128 bytes)          a header of 32 bytes and the first 96 of the block
//   rest of the block         frames (wire/frames.h), the end padded with zeros
//   direct payload            of the block's last frame; can be absent
//   trailer                   only after direct payload; states whether the payload is valid
//
// Before each read, the reader knows how many bytes follow and of which kind. It therefore reads
// payload from the socket directly to its destination, and never reads ahead into a buffer. A short
// message needs one read. docs/tcp-channel.md has a worked example.
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
  // The authentication code of this header without the tag, and of the block; 0 on an encrypted
  // channel.
  std::array<std::byte, 16> tag{};
};
static_assert(sizeof(RecordHeader) == 32);

// States whether the payload is valid. Payload is read from a guest's memory while it is sent; if
// that memory disappears meanwhile, other bytes are sent in its place.
struct RecordTrailer {
  Le32 verdict;     // kGood or kVoid
  Le32 digest{};    // CRC-32C of the payload, on a channel that seals frames alone; else 0
  Le64 reserved{};  // 0
  // The authentication code of the fields above and, if payload is sealed, of the payload; as in
  // the header.
  std::array<std::byte, 16> tag{};
};
static_assert(sizeof(RecordTrailer) == 32);

// The trailer without the tag.
inline std::span<const std::byte> sealed_part(const RecordTrailer& trailer) {
  return std::as_bytes(std::span(&trailer, 1)).first(sizeof trailer - sizeof trailer.tag);
}
inline constexpr std::uint32_t kGood = 1;
inline constexpr std::uint32_t kVoid = 2;

inline constexpr std::size_t kMinBlockBytes = kHeadBytes - sizeof(RecordHeader);

// Reads and checks the header, except for the tag. nullopt: the header is invalid.
std::optional<RecordHeader> read_header(std::span<const std::byte, kHeadBytes> head);

}  // namespace paravane::wire
