#include "model/vm_change.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace paravane::model {
namespace {

Status check_limits(const std::vector<LimitChange>& limits) {
  for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
    const bool again = std::any_of(limits.begin(), limit, [&](const LimitChange& other) {
      return other.field == limit->field;
    });
    if (again) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("limit {} is specified twice", limit->field->name));
    }
    VmLimits alone;
    alone.*limit->field->member = limit->value;
    if (Status good = check_limit(*limit->field, alone); !good) return good;
  }
  return {};
}

Status check_adapters_exist(const VmChange& change, const VmSpec& vm) {
  if (!change.adapter || find_adapter(vm, *change.adapter) != nullptr) return {};
  return fail(Errc::kNotFound, fmt::format("vm {} has no adapter {}", vm.name, *change.adapter));
}

}  // namespace

bool only_moves(const VmChange& change) {
  return change.port_group && !change.hw_version && !change.protocol && change.limits.empty() &&
         change.machine.empty();
}

Status check_change(const VmChange& change) {
  if (!change.hw_version && !change.protocol && change.limits.empty() && !change.port_group &&
      change.machine.empty()) {
    return fail(Errc::kInvalidArgument, "no change given");
  }
  if (change.adapter && !change.protocol && !change.port_group) {
    return fail(Errc::kInvalidArgument,
                "an adapter was given, but no protocol or port group for it");
  }
  if (change.port_group) {
    if (Status good = check_adapter_group(*change.port_group); !good) return good;
  }
  if (change.hw_version) {
    const std::uint32_t hardware = *change.hw_version;
    Status good = check_versions(hardware, default_device_version(hardware));
    if (good && change.protocol) good = check_protocol(hardware, *change.protocol);
    if (!good) return good;
  }
  return check_limits(change.limits);
}

ApiResult<VmSpec> apply(const VmChange& change, const VmSpec& vm, std::string_view revision) {
  if (change.revision && *change.revision != revision) {
    return refuse(
        ApiErrorCode::kChanged,
        fmt::format("vm {} was changed by another client in the meantime; no change was made",
                    vm.name),
        fmt::format("Check the VM with paravane vm show {}, and try again.", vm.name));
  }
  if (const Status known = check_adapters_exist(change, vm); !known) {
    return refuse(ApiErrorCode::kNotFound, known.error().message,
                  "List the adapters with: paravane vm list");
  }
  VmSpec changed = vm;
  if (change.hw_version) changed.hw_version = *change.hw_version;
  changed.machine = apply(change.machine, changed.machine);
  // An expert's choice of 18 to 20 stays as long as there is such a device.
  if (!check_versions(changed.hw_version, changed.version)) {
    changed.version = default_device_version(changed.hw_version);
  }
  for (AdapterSpec& adapter : changed.adapters) {
    const bool meant = !change.adapter || *change.adapter == adapter.number;
    if (change.protocol && meant) adapter.protocol = *change.protocol;
    if (change.port_group && meant) adapter.port_group = *change.port_group;
    if (const Status good = check_protocol(changed.hw_version, adapter.protocol); !good) {
      return refuse(ApiErrorCode::kInvalidRequest,
                    fmt::format("vm {}: adapter {} cannot use RoCE {}: {}", vm.name, adapter.number,
                                to_string(adapter.protocol), good.error().message),
                    change.hw_version
                        ? "Set protocol v1 for every adapter together with the hardware version."
                        : "Raise the VM's hardware version to 14 or more as well.");
    }
  }
  for (const LimitChange& limit : change.limits) {
    changed.limits.*limit.field->member = limit.value;
  }
  if (const Status good = check_spec(changed); !good) {
    return refuse(ApiErrorCode::kInvalidRequest,
                  fmt::format("vm {}: {}", vm.name, good.error().message));
  }
  return changed;
}

ApiResult<AdapterSpec> next_adapter(const AdapterRequest& request, const VmSpec& vm) {
  if (vm.adapters.size() >= kMaxAdapters) {
    return refuse(ApiErrorCode::kLimitReached,
                  fmt::format("vm {} already has {} adapters", vm.name, kMaxAdapters),
                  "Remove an adapter first: paravane vm adapter remove");
  }
  AdapterSpec adapter;
  while (find_adapter(vm, adapter.number) != nullptr) ++adapter.number;
  adapter.mac = request.mac;
  adapter.port_group = request.port_group;
  adapter.protocol = request.protocol.value_or(default_protocol(vm.hw_version));
  Status good = check_protocol(vm.hw_version, adapter.protocol);
  if (good) good = check_mac(adapter);
  if (good) good = check_adapter_group(adapter.port_group);
  if (good) return adapter;
  return refuse(ApiErrorCode::kInvalidRequest,
                fmt::format("vm {}: {}", vm.name, good.error().message),
                "Choose another protocol or address, or raise the VM's hardware version.");
}

void insert_adapter(const AdapterSpec& adapter, VmSpec& vm) {
  const auto place =
      std::ranges::lower_bound(vm.adapters, adapter.number, {}, &AdapterSpec::number);
  vm.adapters.insert(place, adapter);
}

void erase_adapter(std::uint32_t number, VmSpec& vm) {
  std::erase_if(vm.adapters, [number](const AdapterSpec& one) { return one.number == number; });
}

}  // namespace paravane::model
