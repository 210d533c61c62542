// The memory reserve: a block of memory that is freed when the process runs out of memory. The
// first allocation that fails frees the block and then succeeds. Work in progress can therefore be
// completed, while new requests are refused (http/http_door.h) until the block can be allocated
// again.
//
// A process can have only one reserve, because the handler that operator new calls has no
// arguments. Any thread.

#pragma once

#include <cstddef>
#include <cstdint>

namespace paravane {

// The size of the block. Its pages are never touched, so it costs only address space.
inline constexpr std::size_t kMemoryReserveBytes = std::size_t{8} << 20;

// Allocates the reserve and installs the handler of operator new. REQUIRES: not called before.
void keep_memory_reserve();
// Whether memory is sufficient. If the reserve has been used up, the function tries to allocate it
// again, and returns false if that fails. Without keep_memory_reserve() it returns true.
bool has_memory_reserve();
// How often the reserve was used.
std::uint64_t memory_reserve_uses();

}  // namespace paravane
