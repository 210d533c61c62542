#include "model/advanced_setting.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "model/vm.h"

namespace paravane::model {
namespace {

constexpr AdvancedSetting number_setting(std::string_view path, std::string_view standard,
                                         std::int64_t min, std::int64_t max,
                                         std::string_view description) {
  return {.path = path,
          .type = AdvancedSetting::Type::kInteger,
          .standard = standard,
          .min = min,
          .max = max,
          .description = description};
}

static_assert(kMaxAdapters == 8);  // what is written below

// By path.
constexpr std::array<AdvancedSetting, 6> kSettings = {
    {number_setting(kPvrdmaReservation, "0", 0, 1,
                    "Require all guest memory to be reserved at VM start (vSphere: 1)"),
     number_setting(kPvrdmaAtomics, "1", 0, 1,
                    "Enable atomic operations on adapters, from the VM's next start (vSphere: 0)"),
     number_setting(kPvrdmaMaxAdapters, "8", 1, kMaxAdapters,
                    "Maximum number of PVRDMA adapters per VM (vSphere: 1)"),
     number_setting(kPvrdmaMaxUdQueuePairs, "0", 0, 65535,
                    "Maximum number of UD queue pairs per adapter, from the VM's next start; 0: no "
                    "separate limit (vSphere: 3)"),
     number_setting(kPvrdmaUplinkEdit, "0", 0, 1,
                    "Require VMs to be off when an uplink without RDMA is edited (vSphere: 1)"),
     {.path = kPvrdmaVmknic,
      .type = AdvancedSetting::Type::kString,
      .standard = "",
      .valid = "*",
      .description = "VMkernel interface for the channel to other hosts; empty: no channel"}}};

constexpr std::size_t kMaxText = 64;

}  // namespace

std::span<const AdvancedSetting> advanced_settings() {
  return kSettings;
}

const AdvancedSetting* find_setting(std::string_view path) {
  const auto* found = std::ranges::find(kSettings, path, &AdvancedSetting::path);
  return found == kSettings.end() ? nullptr : found;
}

std::string setting_value(const SettingValues& values, const AdvancedSetting& setting) {
  const auto found = values.find(setting.path);
  return found == values.end() ? std::string(setting.standard) : found->second;
}

std::int64_t setting_number(const SettingValues& values, std::string_view path) {
  const std::string text = setting_value(values, *find_setting(path));
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Status check_setting(const AdvancedSetting& setting, std::string_view value) {
  if (setting.type == AdvancedSetting::Type::kString) {
    const bool good = value.size() <= kMaxText &&
                      std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~'; });
    if (good) return {};
    return fail(Errc::kInvalidArgument,
                fmt::format("{} must be at most {} printable characters", setting.path, kMaxText));
  }
  std::int64_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool good = parsed.ec == std::errc{} && parsed.ptr == value.data() + value.size() &&
                    number >= setting.min && number <= setting.max;
  if (good) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{} must be a number from {} to {}", setting.path,
                                                  setting.min, setting.max));
}

}  // namespace paravane::model
