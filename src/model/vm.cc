#include "model/vm.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace paravane::model {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

Status check_adapters(const VmSpec& spec) {
  if (spec.adapters.empty() || spec.adapters.size() > kMaxAdapters ||
      spec.adapters.front().number != 1) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a VM must have 1 to {} adapters, and the first must be number 1",
                            kMaxAdapters));
  }
  const AdapterSpec* before = nullptr;
  for (const AdapterSpec& adapter : spec.adapters) {
    if (adapter.number > kMaxAdapters || (before != nullptr && adapter.number <= before->number)) {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("adapter numbers must be in ascending order and at most {}", kMaxAdapters));
    }
    before = &adapter;
    if (Status good = check_mac(adapter); !good) return good;
    if (Status good = check_protocol(spec.hw_version, adapter.protocol); !good) return good;
    if (Status good = check_adapter_group(adapter.port_group); !good) return good;
    const auto same = [&adapter](const AdapterSpec& other) { return other.mac == adapter.mac; };
    if (adapter.mac && std::ranges::count_if(spec.adapters, same) > 1) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("MAC address {} belongs to two adapters", format_mac(*adapter.mac)));
    }
  }
  return {};
}

}  // namespace

std::string nearest_good_name(std::string_view name) {
  std::string near;
  for (const char c : name) {
    const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool good = is_name_start(small) || small == '_' || small == '.' || small == '-';
    if (near.empty() && !is_name_start(small)) continue;
    if (good) near += small;
    if (!good && !near.ends_with('-')) near += '-';
  }
  near.resize(std::min(near.size(), kMaxNameLength));
  while (near.ends_with('-')) near.pop_back();
  return near;
}

Status check_limit(const LimitField& field, const VmLimits& limits) {
  const std::optional<std::uint32_t> value = limits.*field.member;
  if (!value) return {};
  if (*value < field.min || *value > field.max) {
    return fail(Errc::kInvalidArgument, fmt::format("limit {} is {}, but must be {} to {}",
                                                    field.name, *value, field.min, field.max));
  }
  if (field.power_of_two && !std::has_single_bit(*value)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("limit {} is {}, but must be a power of two", field.name, *value));
  }
  return {};
}

Status check_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxNameLength && is_name_start(name[0]) &&
                    std::ranges::all_of(name, [](char c) {
                      return is_name_start(c) || c == '_' || c == '.' || c == '-';
                    });
  if (good) return {};
  const std::string near = nearest_good_name(name);
  return fail(
      Errc::kInvalidArgument,
      fmt::format(
          "a name must be 1 to 63 characters from a-z, 0-9, '_', '.' and '-', and start with a "
          "letter or a digit{}",
          near.empty() ? "" : fmt::format("; how about {}?", near)));
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
  if (Status versions = check_versions(spec.hw_version, spec.version); !versions) return versions;
  if (Status adapters = check_adapters(spec); !adapters) return adapters;
  if (Status machine = check_machine(spec.machine); !machine) return machine;
  for (const LimitField& field : kLimitFields) {
    if (Status good = check_limit(field, spec.limits); !good) return good;
  }
  return {};
}

Status check_mac(const AdapterSpec& adapter) {
  if (!adapter.mac || is_unicast(*adapter.mac)) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("MAC address {} cannot belong to an adapter: it is {}", format_mac(*adapter.mac),
                  (*adapter.mac)[0] & 1 ? "a group address (first byte is odd)" : "zero"));
}

Status check_adapter_group(std::string_view port_group) {
  if (port_group.empty()) return {};
  if (const Status good = check_name(port_group); !good) {
    return fail(Errc::kInvalidArgument,
                fmt::format("port group \"{}\": {}", port_group, good.error().message));
  }
  return {};
}

const AdapterSpec* find_adapter(const VmSpec& spec, std::uint32_t number) {
  const auto found = std::ranges::find(spec.adapters, number, &AdapterSpec::number);
  return found == spec.adapters.end() ? nullptr : &*found;
}

AdapterSpec* find_adapter(VmSpec& spec, std::uint32_t number) {
  return const_cast<AdapterSpec*>(find_adapter(std::as_const(spec), number));
}

std::string socket_file(std::string_view vm, std::uint32_t number) {
  return number == 1 ? fmt::format("{}.sock", vm) : fmt::format("{}.{}.sock", vm, number);
}

std::string_view to_string(VmState state) {
  switch (state) {
    case VmState::kDetached: return "detached";
    case VmState::kAttached: return "attached";
    case VmState::kActive: return "active";
    case VmState::kFailed: return "failed";
    case VmState::kDead: return "dead";
    case VmState::kLost: return "lost";
  }
  return "unknown";
}

bool has_vmm(VmState state) {
  return state == VmState::kAttached || state == VmState::kActive || state == VmState::kDead ||
         state == VmState::kLost;
}

std::optional<VmState> parse_vm_state(std::string_view text) {
  for (const VmState state : {VmState::kDetached, VmState::kAttached, VmState::kActive,
                              VmState::kFailed, VmState::kDead, VmState::kLost}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace paravane::model
