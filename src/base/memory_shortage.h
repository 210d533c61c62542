// runs_in_memory(): runs a function and catches the exception of a failed allocation. Destructors
// clean up the interrupted work, and the thread can continue with its next task.
//
// Any other exception is a bug. It is not caught here, and it ends the process.

#pragma once

#include <new>
#include <utility>

namespace paravane {

// False: `act` was interrupted because memory ran out.
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
