// LanePieces: how far a message is that comes by a lane, at the end that receives it; and the keys
// of the memory that is lent for it.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <vector>

#include "base/undo.h"
#include "verbs/memory_region.h"

namespace paravane::transport_channel {

struct LanePieces {
  std::uint64_t cleared = 0;  // bytes that the peer may send
  std::uint64_t placed = 0;   // bytes, of those
  std::uint32_t under_way = 0;
  bool leaves_lane = false;  // the rest comes in the stream, when no piece is under way
  bool has_void = false;     // what follows it does not come by the lane

  // The oldest of them is there. True: its bytes follow those that were placed before.
  bool take(std::uint32_t bytes, bool is_void) {
    --under_way;
    if (is_void) has_void = leaves_lane = true;
    if (!has_void) placed += bytes;
    return !has_void;
  }
};

// What `find` returns, which finds memory; `keys`: of the memory regions in which it was found.
template <typename Find>
auto noting_keys(verbs::MemoryRegionTable& regions, std::vector<std::uint32_t>& keys, Find find) {
  regions.note_keys(&keys);
  const Undo noted([&regions] { regions.note_keys(nullptr); });
  return find();
}

}  // namespace paravane::transport_channel
