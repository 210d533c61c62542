// Settings for how this process's heap returns memory to the kernel.

#pragma once

#include <malloc.h>

namespace paravane {

// Large blocks come from the kernel one by one and go back one by one. By default glibc
// keeps them in its heap once some have been freed, and gives a gigabyte of them back in a
// single call to free(), which takes 60 ms: longer than any turn of the worker may be.
// Before other threads start.
inline void give_large_blocks_back_one_by_one() {
  constexpr int kLarge = 128 * 1024;  // glibc's own threshold, which it raises as it goes
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

}  // namespace paravane
