// The range that the guest ABI can express for a device's limits, and the capabilities that report
// them to the guest (docs/device-spec.md, "Capabilities").

#pragma once

#include "abi/shared_region.h"
#include "base/result.h"
#include "device/device_config.h"

namespace paravane::device {

inline constexpr std::uint32_t kMaxDriverQueuePairs = 65535;  // the provider masks with 16 bits
inline constexpr std::uint32_t kMaxRingPages = 65535;         // a 16-bit field counts them
inline constexpr std::uint64_t kMaxRegionBytes = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMaxFastRegionPages = 128;  // the driver refuses more

// Errors: kInvalidArgument with the name of the limit and what it may be.
Status check_config(const DeviceConfig& config);

// The GID type that is really offered: version 17 knows RoCE v1 only.
verbs::GidType offered_gid_type(const DeviceConfig& config);

// REQUIRES: check_config() succeeded.
abi::DeviceCaps make_caps(const DeviceConfig& config, const DeviceRules& rules = {});

}  // namespace paravane::device
