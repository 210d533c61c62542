// load_shared_region(): reads the device shared region, which contains the addresses of the
// driver's slots and rings, and writes the capabilities of the device to the region. This happens
// once, when the guest writes the register DSRHIGH.
//
// The driver can change the region at any time, so the device keeps its own copy and never accesses
// the region again. Owner thread only. Source: docs/device-spec.md, section 4.

#pragma once

#include <algorithm>
#include <cstdint>

#include "abi/shared_region.h"
#include "base/result.h"
#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"

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

  // The version that both sides support, which is the lower one.
  std::uint32_t effective_version(std::uint32_t ours) const {
    return std::min(ours, driver_version);
  }
};

// (docs/state.md)
void save(const SharedRegion& region, state::Writer& out);
SharedRegion load_saved_region(state::Reader& in);

// Errors: kOutOfRange (the region is not mapped), kInvalidArgument (the region is all zeros,
// because the VMM has passed a private copy of guest memory). The messages name the remedy.
Result<SharedRegion> load_shared_region(GuestMemory& memory, GuestAddr at,
                                        const abi::DeviceCaps& caps);

}  // namespace paravane::device
