#include "control/advanced_setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace paravane::control {
namespace {

constexpr std::array<AdvancedSetting, 1> kSettings = {
    {{.path = kPvrdmaVmknic,
      .type = AdvancedSetting::Type::kString,
      .standard = "",
      .valid = "*",
      .description = "The VMkernel interface of the channel to other hosts; empty: no channel"}}};

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

Status check_setting(const AdvancedSetting& setting, std::string_view value) {
  if (setting.type == AdvancedSetting::Type::kString) {
    const bool good = value.size() <= kMaxText &&
                      std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~'; });
    if (good) return {};
    return fail(Errc::kInvalidArgument,
                fmt::format("{} takes up to {} printable characters", setting.path, kMaxText));
  }
  std::int64_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool good = parsed.ec == std::errc{} && parsed.ptr == value.data() + value.size() &&
                    number >= setting.min && number <= setting.max;
  if (good) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{} takes a number from {} to {}", setting.path,
                                                  setting.min, setting.max));
}

}  // namespace paravane::control
