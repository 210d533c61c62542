// rdma-core's own libibumad, for tests that compare ours with it.

#pragma once

#include <dlfcn.h>

namespace paravane::umad_library {

// nullptr: it is not installed. A process that loads both libraries loads it first: the loader
// gives the one that it has for their common name.
inline void* rdma_core_library() {
  static void* const library = ::dlopen("libibumad.so.3", RTLD_NOW | RTLD_LOCAL);
  return library;
}

}  // namespace paravane::umad_library
