#include "umad_library/notice.h"

#include <unistd.h>

#include <cstdio>

namespace paravane::umad_library {
namespace {

std::atomic<int>& level_of_debug() {
  static std::atomic<int> level = 0;
  return level;
}

}  // namespace

void warn(const char* function, const std::string& text) {
  std::fprintf(stderr, "ibwarn: [%d] %s: %s\n", ::getpid(), function, text.c_str());
}

int debug_level() {
  return level_of_debug();
}

void set_debug_level(int level) {
  level_of_debug() = level;
}

void debug(const char* function, const std::string& text) {
  if (debug_level() > 0) warn(function, text);
}

}  // namespace paravane::umad_library
