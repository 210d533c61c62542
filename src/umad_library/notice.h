// Writes lines for people to stderr, in the form of rdma-core's libibumad:
// "ibwarn: [pid] function: text". Any thread.

#pragma once

#include <atomic>
#include <string>

namespace paravane::umad_library {

void warn(const char* function, const std::string& text);

// What umad_debug() sets. From 1 on, debug() writes; from 2 on, MADs that are sent are shown too.
int debug_level();
void set_debug_level(int level);
void debug(const char* function, const std::string& text);

// A warning that a process writes once, however often it is true.
class WarnedOnce {
 public:
  void warn(const char* function, const std::string& text) {
    if (!is_said_.exchange(true)) umad_library::warn(function, text);
  }

 private:
  std::atomic<bool> is_said_ = false;
};

}  // namespace paravane::umad_library
