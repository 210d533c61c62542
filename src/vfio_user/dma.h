// DMA_MAP and DMA_UNMAP: the VMM states which guest memory the function may access. GuestMemory
// keeps the map; this code parses the messages and reports the result.
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

  // On refusal, `why` says it for the log. A range without a descriptor is
  // taken: it exists, and cannot be reached.
  Handled map(Request& request, std::string& why);

  // Whatever of the range is mapped goes. Nothing mapped there is success.
  Handled unmap(const Request& request, Reply& reply, ReplyToken token);

  // Guest RAM came without a descriptor: the VM was started without shared
  // memory, and the device will reach nothing.
  bool memory_is_private() const { return memory_is_private_; }

 private:
  PciDevice& device_;
  GuestMemory& memory_;
  ServerCounters& counters_;
  bool memory_is_private_ = false;
};

}  // namespace paravane::vfio_user
