// The feature tx-udp-segmentation of a network interface: its driver cuts a frame of UDP with many
// packets apart, instead of the kernel. The kernel counts the IPv4 identification up from packet to
// packet, and the CRC of a RoCE packet covers it. Nothing says that a NIC does the same, so a NIC's
// cutting is turned off where RoCE packets leave.
//
// Blocks until the driver answers. One thread.

#pragma once

#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// False also where the kernel does not know the feature. Errors: kIo.
Result<bool> cuts_udp(const std::string& link);

// True: it was on. Errors: kIo, kBadState (the driver does not turn it off).
Result<bool> stop_cutting_udp(const std::string& link);

}  // namespace paravane::ethernet
