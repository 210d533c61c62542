// runs_in_memory(): a boundary at which a failed allocation stops. Destructors clean up what was
// in progress, and the thread continues with its next task.
//
// Any other exception is a bug and ends the process.

#pragma once

#include <new>
#include <utility>

namespace paravane {

// False: there was no memory for all of `act`.
template <typename Act>
bool runs_in_memory(Act&& act) {
  try {
    std::forward<Act>(act)();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace paravane
