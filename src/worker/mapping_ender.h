// MappingEnder: the thread that unmaps guests' files that are no longer reachable. The kernel
// needs a quarter of a second per GiB for a VM whose VMM died; in the worker, all other VMs would
// wait for that.
//
// Mappings that wait here still use the daemon's address space, so each VM may have only as much
// of that as it may have memory (guestmem/guest_memory.h, Limits); the pages belong to the VMM.

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
