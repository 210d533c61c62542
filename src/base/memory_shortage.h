// runs_in_memory(): a boundary at which a failed allocation stops. What stands behind it is
// left as its destructors leave it, and the thread goes on with the next thing it has to do.
//
// Anything else that is thrown is a mistake of ours, and ends the process.

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
