#include "control/vm.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace paravane::control {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

Status check_limit(const LimitField& field, const VmLimits& limits) {
  const std::optional<std::uint32_t> value = limits.*field.member;
  if (!value) return {};
  if (*value < field.min || *value > field.max) {
    return fail(Errc::kInvalidArgument, fmt::format("limit {} is {}: it may be {} to {}",
                                                    field.name, *value, field.min, field.max));
  }
  if (field.power_of_two && !std::has_single_bit(*value)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("limit {} is {}: it must be a power of two", field.name, *value));
  }
  return {};
}

}  // namespace

Status check_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxNameLength && is_name_start(name[0]) &&
                    std::ranges::all_of(name, [](char c) {
                      return is_name_start(c) || c == '_' || c == '.' || c == '-';
                    });
  if (good) return {};
  return fail(Errc::kInvalidArgument,
              "a name is 1 to 63 characters of a-z, 0-9, '_', '.' and '-', and starts with a "
              "letter or a digit");
}

std::string_view to_string(Doorbells doorbells) {
  return doorbells == Doorbells::kMapped ? "mapped" : "trapped";
}

std::optional<Doorbells> parse_doorbells(std::string_view text) {
  if (text == "mapped") return Doorbells::kMapped;
  if (text == "trapped") return Doorbells::kTrapped;
  return std::nullopt;
}

Status check_spec(const VmSpec& spec) {
  if (Status name = check_name(spec.name); !name) return name;
  if (spec.mac && !is_unicast(*spec.mac)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("MAC address {} cannot belong to an adapter: it is {}", format_mac(*spec.mac),
                    (*spec.mac)[0] & 1 ? "a group address (first byte is odd)" : "zero"));
  }
  if (spec.version < kMinDeviceVersion || spec.version > kMaxDeviceVersion) {
    return fail(Errc::kInvalidArgument,
                fmt::format("device version {} does not exist: {} to {}", spec.version,
                            kMinDeviceVersion, kMaxDeviceVersion));
  }
  for (const LimitField& field : kLimitFields) {
    if (Status good = check_limit(field, spec.limits); !good) return good;
  }
  return {};
}

std::string_view to_string(VmState state) {
  switch (state) {
    case VmState::kDetached: return "detached";
    case VmState::kAttached: return "attached";
    case VmState::kActive: return "active";
    case VmState::kFailed: return "failed";
  }
  return "unknown";
}

std::optional<VmState> parse_vm_state(std::string_view text) {
  for (const VmState state :
       {VmState::kDetached, VmState::kAttached, VmState::kActive, VmState::kFailed}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace paravane::control
