// Tag: the number that an initiator gives a request, by which the answer names it.
//
// A tag is never used twice in a session: its lower 16 bits are a place in a table, the others a
// number that grows with each request. So an answer that comes late, or twice, or that a target has
// made up, is never taken for that of a younger request. The highest bit says that the request is
// task management.
//
// Plain values; any thread.

#pragma once

#include <cstddef>
#include <cstdint>

namespace paravane::srp {

enum class Tag : std::uint64_t { kNone = 0 };

inline constexpr unsigned kSlotBits = 16;
inline constexpr std::uint64_t kManagementBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kMostGeneration = (std::uint64_t{1} << 47) - 1;

// REQUIRES: 0 < generation <= kMostGeneration; slot < 2^kSlotBits.
constexpr Tag command_tag(std::uint64_t generation, std::size_t slot) {
  return static_cast<Tag>((generation << kSlotBits) | slot);
}
constexpr Tag management_tag(std::uint64_t generation, std::size_t slot) {
  return static_cast<Tag>(kManagementBit | (generation << kSlotBits) | slot);
}

constexpr std::size_t slot_of(Tag tag) {
  return static_cast<std::size_t>(static_cast<std::uint64_t>(tag) & ((1U << kSlotBits) - 1));
}
constexpr std::uint64_t generation_of(Tag tag) {
  return (static_cast<std::uint64_t>(tag) & ~kManagementBit) >> kSlotBits;
}
constexpr bool is_management(Tag tag) {
  return (static_cast<std::uint64_t>(tag) & kManagementBit) != 0;
}

}  // namespace paravane::srp
