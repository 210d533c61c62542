// MappingEnder: the thread that takes down mappings of guests' files which nothing can
// reach any more. It takes the kernel a quarter of a second for each GiB of a VM whose
// VMM died; in the worker all other VMs would wait for that.
//
// What waits here has addresses of the daemon's still, so each VM may have as much of it
// as of memory (guestmem/guest_memory.h, Limits); its pages are the VMM's.

#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "guestmem/ended_mapping.h"

namespace paravane::worker {

class MappingEnder final : public MappingSink {
 public:
  MappingEnder();
  // Takes down all of them, and no more in slices: nothing else runs any more.
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

}  // namespace paravane::worker
