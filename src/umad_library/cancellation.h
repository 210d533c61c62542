// NotCancelled: keeps pthread_cancel() away from the calling thread, but for its waits.
//
// OpenSM ends its receiver by pthread_cancel() while that is in umad_recv(). Each system call that
// can wait would end the thread there, with a lock held or within a destructor, where it would end
// the program. So the library is cancelled in wait() alone, where nothing is held. The stack is
// then unwound: no function between wait() and the program may be noexcept, or catch (...).
//
// One thread.

#pragma once

#include <poll.h>
#include <pthread.h>

namespace paravane::umad_library {

class NotCancelled {
 public:
  NotCancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { ::pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

  // poll() of one descriptor; -1: of none.
  int wait(int fd, short events, int timeout_ms) {
    pollfd ready{.fd = fd, .events = events, .revents = 0};
    ::pthread_setcancelstate(before_, nullptr);
    const int count = ::poll(&ready, 1, timeout_ms);
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    return count;
  }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace paravane::umad_library
