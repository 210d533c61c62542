// Defines the virtual hardware versions of VMs, as in vSphere (VMware KB 2147694), and what they
// mean for a VM's adapters.
//
// Hardware version 13, the first with PVRDMA, has device version 17, which supports neither RoCE v2
// nor shared receive queues. Hardware versions 14 to 21 have a device version from 18 to 20. From
// 18 on, adapters reach native RoCE endpoints; otherwise, there is no difference between these
// versions. An operator chooses RoCE v1 or v2 for each adapter.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace paravane::model {

inline constexpr std::uint32_t kMinHardwareVersion = 13;
inline constexpr std::uint32_t kMaxHardwareVersion = 21;
inline constexpr std::uint32_t kNativeHardwareVersion = 18;  // the first with native endpoints

inline constexpr std::uint32_t kMinDeviceVersion = 17;
inline constexpr std::uint32_t kMaxDeviceVersion = 20;

// The protocol of an adapter ("device protocol" in vSphere).
enum class Protocol : std::uint8_t { kRoceV1, kRoceV2 };
std::string_view to_string(Protocol protocol);  // "v1", "v2"
std::optional<Protocol> parse_protocol(std::string_view text);

// The values for a VM whose configuration does not give them.
std::uint32_t default_device_version(std::uint32_t hardware);
Protocol default_protocol(std::uint32_t hardware);
bool has_shared_receive_queues(std::uint32_t hardware);
bool has_native_endpoints(std::uint32_t hardware);
// Device version 17 belongs to hardware version 13; any other has the newest hardware version.
std::uint32_t default_hardware_version(std::optional<std::uint32_t> device);

// Errors: kInvalidArgument (there is no such version, or the two versions contradict each other).
Status check_versions(std::uint32_t hardware, std::uint32_t device);
Status check_protocol(std::uint32_t hardware, Protocol protocol);

}  // namespace paravane::model
