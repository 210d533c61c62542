// The memory reserve: a block that is kept for the moment when there is no other memory. The
// first allocation that fails frees it and goes through, and so do those after it, until it is
// used up too: what is under way then ends well, while new requests are turned away
// (http/http_door.h) until the block can be had again.
//
// It is one of the process, since operator new calls its handler with nothing in hand. Any thread.

#pragma once

#include <cstddef>
#include <cstdint>

namespace paravane {

// Of untouched memory, which costs nothing but its place in what the process may have.
inline constexpr std::size_t kMemoryReserveBytes = std::size_t{8} << 20;

// From now on. REQUIRES: not called before.
void keep_memory_reserve();
// Whether there is one, if it is kept at all; tries to have it again. False: memory is short.
bool has_memory_reserve();
// How often it was used.
std::uint64_t memory_reserve_uses();

}  // namespace paravane
