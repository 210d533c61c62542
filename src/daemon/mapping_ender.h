// MappingEnder: the thread that takes down mappings of guests' files which nothing can
// reach any more. It takes the kernel a quarter of a second for each GiB of a VM whose
// VMM died; in the worker all other VMs would wait for that.
//
// What waits here counts in no VM's limits: nothing of it can be used, and its pages are
// the VMM's. Above kMostWaiting mappings the next ones are taken down by who gives them.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

#include "guestmem/ended_mapping.h"

namespace paravane::daemon {

class MappingEnder final : public MappingSink {
 public:
  static constexpr std::size_t kMostWaiting = 1024;

  MappingEnder();
  // Waits for all of them.
  ~MappingEnder() override;

  // Any thread.
  void take(EndedMapping mapping) override;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<EndedMapping> waiting_;
  bool ending_ = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace paravane::daemon
