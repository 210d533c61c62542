// allocated(): the bytes that the allocator of this process has given out and not got back.
//
// A sanitizer's allocator tells what was asked for. That of glibc tells what it takes, with its own
// words around each block.

#pragma once

#include <malloc.h>

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PVR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PVR_SANITIZED 1
#endif
#endif
#ifdef PVR_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace paravane::fake {

inline std::uint64_t allocated() {
#ifdef PVR_SANITIZED
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

}  // namespace paravane::fake
