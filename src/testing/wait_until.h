// wait_until(): waits for another thread of the same test. It spins first, so
// that two threads on two cores meet within a cache miss, and then gives the
// core away, so that they also meet on one.

#pragma once

#include <thread>

namespace paravane {

template <typename Condition>
void wait_until(Condition condition) {
  for (unsigned tries = 1; !condition(); ++tries) {
    if (tries % 4096 == 0) std::this_thread::yield();
  }
}

}  // namespace paravane
