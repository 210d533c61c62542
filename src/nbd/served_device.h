// ServedDevice: what the connections of a server have together: the device, what is said of it, and
// which of them has it.
//
// Owner thread only.

#pragma once

#include <string>
#include <utility>

#include "base/limited_log.h"
#include "nbd/block_device.h"
#include "nbd/handshake.h"
#include "nbd/server_counters.h"

namespace paravane::nbd {

class Connection;

struct ServedDevice {
  // `device` outlives us.
  ServedDevice(BlockDevice& served, std::string description)
      : device(served),
        offer{.name = served.name(),
              .description = std::move(description),
              .geometry = served.geometry()} {}

  BlockDevice& device;
  Offer offer;
  ServerCounters counters{};
  LimitedLog log{};
  LimitedLog request_log{};    // so that refused requests hide nothing else
  Connection* user = nullptr;  // the one that has opened the device
};

}  // namespace paravane::nbd
