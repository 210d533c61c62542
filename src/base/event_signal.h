// EventSignal: signals another process's eventfd without ever blocking.
//
// write() on an eventfd whose counter is full blocks, unless the file is non-blocking. That flag
// is shared by both sides, so a hostile VMM could fill the counter, clear the flag, and stop the
// worker of all VMs. The kernel's own signal cannot block: an asynchronous read that completes at
// once (of nothing, from /dev/null) raises the eventfd as its completion.
//
// Where the kernel offers no asynchronous I/O (a limit, a sandbox), it falls back to write().
// Setup is deferred to the first signal, because releasing the context takes the kernel
// milliseconds: create one per worker, not per device.
//
// Owner thread only.

#pragma once

#include <linux/aio_abi.h>

#include "base/unique_fd.h"

namespace paravane {

// Waits only if the eventfd blocks and its counter is full.
void raise_by_write(int eventfd);

class EventSignal {
 public:
  EventSignal() = default;
  ~EventSignal();
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;

  // REQUIRES: `eventfd` is one, and non-blocking as far as we know.
  void raise(int eventfd);

  // Whether signals cannot block; known after the first.
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
