// GuestProgram: what a fake guest does, a step at a time, on its worker's own thread: two
// hosts of the benchmark have a core each, and guests would want two more.
//
// Worker's thread, but for await_end().

#pragma once

#include <atomic>

namespace paravane::bench {

class GuestProgram {
 public:
  virtual ~GuestProgram() = default;

  // There is something to do. Reads the guest's memory and rings nothing.
  virtual bool ready() const = 0;
  // REQUIRES: ready().
  virtual void step() = 0;

  // Another thread: waits until end() was called.
  void await_end() { ended_.wait(false, std::memory_order_acquire); }

 protected:
  void end() {
    ended_.store(true, std::memory_order_release);
    ended_.notify_one();
  }

 private:
  std::atomic<bool> ended_{false};
};

}  // namespace paravane::bench
