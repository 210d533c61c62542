// Describes the advanced settings of a host, as in vSphere under "System > Advanced System
// Settings". Each setting has a path, a type, a default value and a description.
// advanced_settings() lists all settings.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::model {

struct AdvancedSetting {
  enum class Type : std::uint8_t { kInteger, kString };
  std::string_view path;
  Type type = Type::kString;
  std::string_view standard;  // the default value
  std::int64_t min = 0;       // of kInteger
  std::int64_t max = 0;
  std::string_view valid{};  // of kString: which characters
  std::string_view description;
};

inline constexpr std::string_view kPvrdmaVmknic = "/Net/PVRDMAVmknic";
// Rules of vSphere that Paravane does not need, for users who want them
// (docs/compared-with-vsphere.md).
inline constexpr std::string_view kPvrdmaMaxAdapters = "/Net/PVRDMAMaxAdapters";
inline constexpr std::string_view kPvrdmaMaxUdQueuePairs = "/Net/PVRDMAMaxUDQueuePairs";
inline constexpr std::string_view kPvrdmaAtomics = "/Net/PVRDMAAtomics";
inline constexpr std::string_view kPvrdmaUplinkEdit = "/Net/PVRDMAUplinkEditNeedsPowerOff";
inline constexpr std::string_view kPvrdmaReservation = "/Mem/PVRDMARequireReservation";

std::span<const AdvancedSetting> advanced_settings();
// nullptr: there is no setting with this path.
const AdvancedSetting* find_setting(std::string_view path);

// The values that an operator has set, by path. A setting that is not in the map has its default
// value.
using SettingValues = std::map<std::string, std::string, std::less<>>;
std::string setting_value(const SettingValues& values, const AdvancedSetting& setting);
// REQUIRES: `path` is a setting of type kInteger, and its value in `values`, if any, is valid.
std::int64_t setting_number(const SettingValues& values, std::string_view path);

// Checks that the value is valid for the setting. Errors: kInvalidArgument.
Status check_setting(const AdvancedSetting& setting, std::string_view value);

}  // namespace paravane::model
