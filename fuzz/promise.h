// require() ends the program where a promise is broken, and says which: the stack of an input that
// another machine has found may be all that is left of it.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace paravane::fake {

inline void require(bool promise, std::source_location where = std::source_location::current()) {
  if (promise) return;
  std::fprintf(stderr, "ERROR: broken promise: %s:%u\n", where.file_name(), where.line());
  std::abort();
}

}  // namespace paravane::fake
