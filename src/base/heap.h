// Makes the heap of this process return large blocks to the kernel one at a time. By default, glibc
// can return a gigabyte in a single call of free(). That call takes longer than the worker thread
// is allowed to spend on one VM before it serves the next VM.

#pragma once

#include <malloc.h>

namespace paravane {

// Makes glibc map and unmap each large block separately. Otherwise it keeps such blocks in its heap
// once some have been freed, and returns a gigabyte of them in a single call of free(). That takes
// 60 ms, which is longer than any turn of the worker may be. Call it before other threads start.
inline void give_large_blocks_back_one_by_one() {
  constexpr int kLarge = 128 * 1024;  // glibc's own threshold, which it raises as it goes
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

}  // namespace paravane
