// MappingEnder is a thread that unmaps guest memory that is no longer accessible, so that the
// worker need not do it. If a VM's VMM has ended, the kernel needs a quarter of a second per GiB to
// unmap its memory, and all other VMs would wait for that.
//
// Mappings that wait here still use the daemon's address space. So the mappings of one VM may use
// only as much address space as the VM may have memory (guestmem/guest_memory.h, Limits). The pages
// themselves belong to the VMM.

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
  // Unmaps all remaining mappings, each as a whole, because no other code is running any more.
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
