// ReserveDescriptor: a file descriptor that is kept open without being used. When the process is
// out of descriptors, closing this one allows one more file to be opened for a moment. It is
// possible that another thread takes the freed descriptor first.
//
// One thread at a time.

#pragma once

#include <sys/eventfd.h>

#include "base/unique_fd.h"

namespace paravane {

class ReserveDescriptor {
 public:
  // Opens the reserve, unless it is open already. False: no descriptor is available.
  bool take() {
    if (!fd_) fd_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
    return static_cast<bool>(fd_);
  }
  // Closes the reserve. False: it was not open.
  bool give_up() {
    const bool had_one = static_cast<bool>(fd_);
    fd_.reset();
    return had_one;
  }

 private:
  UniqueFd fd_;
};

}  // namespace paravane
