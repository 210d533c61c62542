// The requests that a test sends to a child process under the engine's system call filter.

#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <functional>

#include "daemon/system_calls.h"

namespace paravane::daemon {

inline constexpr int kTrue = 10;
inline constexpr int kFalse = 11;
inline constexpr int kNoFilter = 12;

// Ends the child with the answer, which is an exit status.
[[noreturn]] inline void answer_inside(const std::function<bool()>& question) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) _exit(kNoFilter);
  if (!filter_system_calls(false)) _exit(kNoFilter);
  _exit(question() ? kTrue : kFalse);
}

}  // namespace paravane::daemon
