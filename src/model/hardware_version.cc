#include "model/hardware_version.h"

#include <fmt/core.h>

namespace paravane::model {
namespace {

// Of hardware version 13, and of no other.
constexpr std::uint32_t kRoceV1DeviceVersion = 17;

bool is_first(std::uint32_t hardware) {
  return hardware == kMinHardwareVersion;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  return protocol == Protocol::kRoceV1 ? "v1" : "v2";
}

std::optional<Protocol> parse_protocol(std::string_view text) {
  if (text == "v1") return Protocol::kRoceV1;
  if (text == "v2") return Protocol::kRoceV2;
  return std::nullopt;
}

std::uint32_t default_device_version(std::uint32_t hardware) {
  return is_first(hardware) ? kRoceV1DeviceVersion : kMaxDeviceVersion;
}

Protocol default_protocol(std::uint32_t hardware) {
  return is_first(hardware) ? Protocol::kRoceV1 : Protocol::kRoceV2;
}

bool has_shared_receive_queues(std::uint32_t hardware) {
  return !is_first(hardware);
}

bool has_native_endpoints(std::uint32_t hardware) {
  return hardware >= kNativeHardwareVersion;
}

std::uint32_t default_hardware_version(std::optional<std::uint32_t> device) {
  return device == kRoceV1DeviceVersion ? kMinHardwareVersion : kMaxHardwareVersion;
}

Status check_versions(std::uint32_t hardware, std::uint32_t device) {
  if (hardware < kMinHardwareVersion || hardware > kMaxHardwareVersion) {
    return fail(Errc::kInvalidArgument,
                fmt::format("hardware version {} does not exist (supported: {} to {})", hardware,
                            kMinHardwareVersion, kMaxHardwareVersion));
  }
  if (device < kMinDeviceVersion || device > kMaxDeviceVersion) {
    return fail(Errc::kInvalidArgument,
                fmt::format("device version {} does not exist (supported: {} to {})", device,
                            kMinDeviceVersion, kMaxDeviceVersion));
  }
  if (is_first(hardware) == (device == kRoceV1DeviceVersion)) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("hardware version {} does not support device version {}, only {}",
                          hardware, device, is_first(hardware) ? "17" : "18 to 20"));
}

Status check_protocol(std::uint32_t hardware, Protocol protocol) {
  if (!is_first(hardware) || protocol == Protocol::kRoceV1) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("hardware version {} supports RoCE v1 only", hardware));
}

}  // namespace paravane::model
