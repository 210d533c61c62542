// Dma handles the requests DMA_MAP and DMA_UNMAP, by which the VMM states which guest memory the
// PCI function may access. It parses the messages and returns the result; GuestMemory stores the
// map.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "guestmem/guest_memory.h"
#include "vfio_user/counters.h"
#include "vfio_user/message.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

class Dma {
 public:
  Dma(PciDevice& device, GuestMemory& memory, ServerCounters& counters)
      : device_(device), memory_(memory), counters_(counters) {}

  // If the request is refused, `why` is set to the reason, for the log. A range without a
  // descriptor is accepted: it exists but cannot be accessed.
  Handled map(Request& request, std::string& why);

  // Unmaps everything that is mapped within the range. It is not an error if nothing is mapped
  // there.
  Handled unmap(const Request& request, Reply& reply, ReplyToken token);

  // True: guest RAM was mapped without a descriptor, because the VM was started without shared
  // memory. The device cannot access it.
  bool memory_is_private() const { return memory_is_private_; }
  // What was true in the process before.
  void load_memory_is_private(bool is_private) { memory_is_private_ = is_private; }

 private:
  PciDevice& device_;
  GuestMemory& memory_;
  ServerCounters& counters_;
  bool memory_is_private_ = false;
};

}  // namespace paravane::vfio_user
