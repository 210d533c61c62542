// The device shared region: read once when the guest writes DSRHIGH, answered with the
// capabilities, and never touched again. The driver may rewrite it at any time, so the device
// keeps its own copy.

#pragma once

#include <algorithm>
#include <cstdint>

#include "abi/shared_region.h"
#include "base/result.h"
#include "guestmem/guest_memory.h"

namespace paravane::device {

struct GuestRing {
  std::uint32_t pages = 0;
  GuestAddr directory{};
};

struct SharedRegion {
  std::uint32_t driver_version = 0;
  GuestAddr command_slot{};
  GuestAddr response_slot{};
  GuestRing async_ring;
  GuestRing completion_ring;
  std::uint64_t doorbell_frame = 0;  // of page 0

  // The guest's own level decides where it is older than we are.
  std::uint32_t effective_version(std::uint32_t ours) const {
    return std::min(ours, driver_version);
  }
};

// Errors: kOutOfRange (not mapped), kInvalidArgument (all zero: the VMM gave us
// a private copy of guest memory). The texts name the remedy.
Result<SharedRegion> load_shared_region(GuestMemory& memory, GuestAddr at,
                                        const abi::DeviceCaps& caps);

}  // namespace paravane::device
