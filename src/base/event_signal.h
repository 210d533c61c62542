// EventSignal: signals an eventfd of another process without ever blocking.
//
// A write() to an eventfd whose counter is full blocks unless the file is non-blocking. Both
// processes share that flag, so a hostile VMM could fill the counter, clear the flag, and stop the
// worker thread that serves all VMs. This class therefore lets the kernel raise the eventfd, as the
// completion of an asynchronous read of zero bytes from /dev/null, which cannot block.
//
// If the kernel offers no asynchronous I/O (because of a limit or a sandbox), the class falls back
// to write(). Releasing its kernel context takes milliseconds, so the context is created only at
// the first signal. Create one object per worker, not one per device.
//
// Owner thread only.

#pragma once

#include <linux/aio_abi.h>

#include "base/unique_fd.h"

namespace paravane {

// Blocks only if the eventfd is in blocking mode and its counter is full.
void raise_by_write(int eventfd);

class EventSignal {
 public:
  EventSignal() = default;
  ~EventSignal();
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;

  // REQUIRES: `eventfd` is an eventfd that was non-blocking when it was last checked.
  void raise(int eventfd);

  // Whether signals are certain not to block. The answer is known after the first signal.
  bool is_bounded() const { return context_ != 0; }

 private:
  void set_up();
  bool submit(int eventfd);
  void forget_completions();

  bool is_set_up_ = false;
  aio_context_t context_ = 0;
  UniqueFd nothing_;        // /dev/null
  unsigned completed_ = 0;  // and not yet forgotten
};

}  // namespace paravane
