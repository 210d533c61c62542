// Checks that the guest ABI can express the limits of a device, and creates the capabilities that
// report these limits to the guest.
//
// Stateless, any thread. Source: docs/device-spec.md, section 4 ("Capabilities").

#pragma once

#include "abi/shared_region.h"
#include "base/result.h"
#include "device/device_config.h"

namespace paravane::device {

inline constexpr std::uint32_t kMaxDriverQueuePairs = 65535;  // the guest's provider uses 16 bits
inline constexpr std::uint32_t kMaxRingPages = 65535;         // a 16-bit field counts them
inline constexpr std::uint64_t kMaxRegionBytes = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMaxFastRegionPages = 128;  // the driver refuses more

// Errors: kInvalidArgument; the message has the name of the limit and the values that are allowed.
Status check_config(const DeviceConfig& config);

// The GID type that the device actually offers. Version 17 supports only RoCE v1.
verbs::GidType offered_gid_type(const DeviceConfig& config);

// REQUIRES: check_config() succeeded.
abi::DeviceCaps make_caps(const DeviceConfig& config, const DeviceRules& rules = {});

}  // namespace paravane::device
