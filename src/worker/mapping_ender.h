// MappingEnder is a thread that unmaps guest memory that is no longer in use, so that the worker
// does not have to unmap it. When a VMM has ended, the kernel needs a quarter of a second per GiB
// to unmap the VM's memory, and all other VMs would have to wait.
//
// Mappings that wait here still use the daemon's address space. The waiting mappings of one VM are
// therefore limited to the amount of memory that the VM is allowed to have
// (guestmem/guest_memory.h, Limits). The pages themselves belong to the VMM.

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
