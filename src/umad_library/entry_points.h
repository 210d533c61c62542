// What the C functions of libibumad share: the process's door and open ports, and the way in. No
// exception leaves a C function. Any thread.

#pragma once

#include <atomic>
#include <cerrno>
#include <exception>

#include "umad_library/cancellation.h"
#include "umad_library/door.h"
#include "umad_library/open_ports.h"

// Everything else of the library is hidden.
#define UMAD_EXPORT extern "C" __attribute__((visibility("default")))

namespace paravane::umad_library {

struct Process {
  Door door;
  OpenPorts ports{door};
  std::atomic<bool> has_looked_for_ipoib = false;
};

// It has no end: a thread of the program may be in here when the program exits.
inline Process& process() {
  static Process& all = *new Process;
  return all;
}

// Runs `act`, which gives 0, a result, or an errno below zero. What it throws is a lack of memory
// (or of threads' locks); pthread_cancel() is no std::exception and passes.
template <typename Act>
int guarded(Act act, int without_memory = -ENOMEM) {
  try {
    NotCancelled thread;
    return act(thread);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return without_memory;
  }
}

inline int failed(int error, int result) {
  errno = error;
  return result;
}

inline int failed(int error) {
  return failed(error, -error);
}

}  // namespace paravane::umad_library
