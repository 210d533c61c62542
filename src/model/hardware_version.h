// Virtual hardware versions of VMs, as in vSphere (VMware KB 2147694), and their effect on a VM's
// adapters.
//
// 13, the first with PVRDMA, is device version 17: RoCE v1 only, and no shared receive queues.
// From 14 on, the device has version 18 to 20, and each adapter uses RoCE v1 or v2, as the
// operator chose; 14 to 21 are the same to the adapter.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace paravane::model {

inline constexpr std::uint32_t kMinHardwareVersion = 13;
inline constexpr std::uint32_t kMaxHardwareVersion = 21;

inline constexpr std::uint32_t kMinDeviceVersion = 17;
inline constexpr std::uint32_t kMaxDeviceVersion = 20;

// What an adapter speaks ("device protocol" in vSphere).
enum class Protocol : std::uint8_t { kRoceV1, kRoceV2 };
std::string_view to_string(Protocol protocol);  // "v1", "v2"
std::optional<Protocol> parse_protocol(std::string_view text);

// What a VM gets when nothing was said.
std::uint32_t default_device_version(std::uint32_t hardware);
Protocol default_protocol(std::uint32_t hardware);
bool has_shared_receive_queues(std::uint32_t hardware);
// Device version 17 is hardware version 13; otherwise the newest.
std::uint32_t default_hardware_version(std::optional<std::uint32_t> device);

// Errors: kInvalidArgument: there is no such version, or one contradicts the other.
Status check_versions(std::uint32_t hardware, std::uint32_t device);
Status check_protocol(std::uint32_t hardware, Protocol protocol);

}  // namespace paravane::model
