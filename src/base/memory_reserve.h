// The memory reserve: a block that is kept for the moment when no other memory is left. The first
// allocation that fails frees the block and succeeds, as do those after it until that memory is
// used up too. Work in progress then completes, while new requests are refused (http/http_door.h)
// until the block can be allocated again.
//
// There is one reserve per process, since operator new calls its handler without arguments. Any
// thread.

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
