// ReserveDescriptor: an unused descriptor that is kept in reserve. When no other is available, it
// is closed so that one more file can be opened for a moment.
//
// One thread at a time. Another thread may grab the freed descriptor first.

#pragma once

#include <sys/eventfd.h>

#include "base/unique_fd.h"

namespace paravane {

class ReserveDescriptor {
 public:
  // Again, if it was given up. False: there is none to be had.
  bool take() {
    if (!fd_) fd_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
    return static_cast<bool>(fd_);
  }
  // False: there was none.
  bool give_up() {
    const bool had_one = static_cast<bool>(fd_);
    fd_.reset();
    return had_one;
  }

 private:
  UniqueFd fd_;
};

}  // namespace paravane
