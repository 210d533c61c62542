// EventSignal: signals an eventfd of another process without ever blocking.
//
// A write() to an eventfd blocks if the counter of the eventfd is full, unless the non-blocking
// flag is set. The other process can change this flag. A hostile VMM could therefore fill the
// counter, clear the flag, and block the worker thread, which serves all VMs. To avoid this,
// EventSignal starts an asynchronous read of zero bytes from /dev/null, and the kernel raises the
// eventfd when the read is complete. This cannot block.
//
// If asynchronous I/O is not available (because of a limit or a sandbox), EventSignal uses write()
// instead.
//
// The kernel's context for asynchronous I/O is created only at the first signal, because releasing
// it takes milliseconds. Create one EventSignal per worker, not one per device.
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
