// Tag: the number of a record in a saved state, and the layout of records.
//
// A state is a sequence of records, and a group is a record whose bytes are a sequence of records
// again. Each class numbers the records of its own group, so equal numbers in different groups have
// nothing to do with each other. Within a group, records stand in the order of their tags. A tag
// that stands several times is a list.
//
// A number, once it has been in a release, keeps its meaning. A record that a reader does not know
// is refused by its tag, unless kMayBeSkipped is set in it: a daemon of an older release then works
// without it. The format is described in docs/state.md.

#pragma once

#include <cstdint>

#include "base/wire_int.h"

namespace paravane::state {

enum class Tag : std::uint16_t {};

inline constexpr std::uint16_t kMayBeSkipped = 0x8000;

constexpr bool may_be_skipped(Tag tag) {
  return (static_cast<std::uint16_t>(tag) & kMayBeSkipped) != 0;
}
// The place of a tag among others.
constexpr std::uint16_t place_of(Tag tag) {
  return static_cast<std::uint16_t>(static_cast<std::uint16_t>(tag) & ~kMayBeSkipped);
}

struct RecordHeader {
  Le16 tag;
  Le32 bytes;  // that follow
};

// Groups in groups.
inline constexpr std::uint32_t kMostDepth = 8;

}  // namespace paravane::state
