// Host: changes of a VM that is there: its hardware version, protocols and quotas,
// and its further adapters.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "api/vm_json.h"
#include "base/log.h"
#include "device/limits.h"
#include "host/host.h"
#include "host/port_config.h"
#include "host/refusals.h"

namespace paravane::host {

using model::ApiResult;
using model::VmSpec;
using model::VmStatus;

namespace {

std::unexpected<model::ApiError> cannot_change(const std::string& name) {
  return std::unexpected(model::ApiError{
      .code = model::ApiErrorCode::kVmsAttached,
      .message =
          fmt::format("vm {} is attached: its guest is using the current configuration", name),
      .remedy = "Shut down the VM, change it, and start it again.",
      .vms = {name}});
}

std::unexpected<model::ApiError> cannot_unplug(const std::string& name, std::uint32_t number) {
  return std::unexpected(model::ApiError{
      .code = model::ApiErrorCode::kVmsAttached,
      .message = fmt::format("adapter {} of vm {} cannot be removed while the VM runs: QEMU (as of "
                             "11.1) aborts when a vfio-user device is unplugged",
                             number, name),
      .remedy = "Shut down the VM first. --force disconnects the adapter immediately, but the "
                "guest keeps a dead device until shutdown.",
      .vms = {name}});
}

}  // namespace

model::ApiResult<model::VmStatus> Host::set_vm(const std::string& name,
                                               const model::VmChange& change) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  Vm& vm = found->second;
  const auto changed = model::apply(change, vm.spec, api::revision_of(vm.spec));
  if (!changed) return std::unexpected(changed.error());
  if (change.port_group) {
    if (auto may = check_cluster(); !may) return std::unexpected(may.error());
    if (auto good = check_port_groups(*changed); !good) return std::unexpected(good.error());
  }
  if (auto good = check_luns(*changed); !good) return std::unexpected(good.error());
  if (model::only_moves(change)) return move_adapters(vm, *changed);
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  if (is_attached(vm.spec, *now)) return cannot_change(name);
  // While the old devices are still there.
  if (auto fits = check_devices(*changed); !fits) return std::unexpected(fits.error());
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto written = transaction->replace(*changed); !written) {
    return std::unexpected(written.error());
  }
  const auto removed = remove_ports(adapter_names(vm.spec), false);
  if (!removed) return std::unexpected(removed.error());
  if (!*removed) return cannot_change(name);
  const auto made = make_ports(*changed);
  const auto kept = made ? transaction->commit() : made;
  if (!kept) {
    if (made) take_back_ports(adapter_names(*changed));
    bring_back(vm);
    network_->apply();  // a port that was made anew has no RoCE port yet
    return std::unexpected(kept.error());
  }
  const model::VmSpec before = std::exchange(vm, {.spec = *changed, .problems = {}}).spec;
  network_->apply();
  tell_cluster();
  changes_.info("{}: changed, hardware version {}, device version {}", name, changed->hw_version,
                changed->version);
  tell_changed(before, *changed);
  return status_of(vm, {});
}

model::ApiResult<void> Host::check_devices(const model::VmSpec& spec) const {
  for (const model::AdapterSpec& adapter : spec.adapters) {
    const Status good = device::check_config(make_port_config(spec, adapter, config_).device);
    if (good) continue;
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         fmt::format("vm {}: {}", spec.name, good.error().message),
                         "Choose other limits.");
  }
  return {};
}

model::ApiResult<void> Host::check_adapter_count(const model::VmSpec& spec) const {
  const std::size_t count = spec.adapters.size();
  const std::int64_t most = vmkernel_->number(model::kPvrdmaMaxAdapters);
  if (std::cmp_less_equal(count, most)) return {};
  return model::refuse(
      model::ApiErrorCode::kLimitReached,
      fmt::format("vm {} would have {} PVRDMA adapters, but {} is {}", spec.name, count,
                  model::kPvrdmaMaxAdapters, most),
      fmt::format("Raise the limit: paravane system settings advanced set -o {} -i {}",
                  model::kPvrdmaMaxAdapters, count));
}

model::ApiResult<model::VmStatus> Host::add_adapter(const std::string& name,
                                                    const model::AdapterRequest& request) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  Vm& vm = found->second;
  if (auto may = check_cluster(); !may) return std::unexpected(may.error());
  auto adapter = model::next_adapter(request, vm.spec);
  if (!adapter) return std::unexpected(adapter.error());
  if (auto free = check_free(vm.spec, *adapter); !free) return std::unexpected(free.error());
  if (!adapter->mac) adapter->mac = choose_mac(vm.spec, adapter->number);
  model::VmSpec wider = vm.spec;
  model::insert_adapter(*adapter, wider);
  if (auto room = check_adapter_count(wider); !room) return std::unexpected(room.error());
  if (auto good = check_port_groups(wider); !good) return std::unexpected(good.error());
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto written = transaction->replace(wider); !written) return std::unexpected(written.error());
  if (auto made = make_port(wider, *adapter); !made) return std::unexpected(made.error());
  const model::AdapterName port{name, adapter->number};
  if (auto kept = transaction->commit(); !kept) {
    take_back_ports({port});
    return std::unexpected(kept.error());
  }
  vm.spec = std::move(wider);
  network_->apply();
  tell_cluster();
  changes_.info("{}: added, MAC {}", to_string(port), model::format_mac(*adapter->mac));
  tell_adapter("adapter.added", port, "was added");
  return status_after_change(vm);
}

model::ApiResult<model::VmStatus> Host::remove_adapter(const std::string& name,
                                                       std::uint32_t number, bool force) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  Vm& vm = found->second;
  if (model::find_adapter(vm.spec, number) == nullptr) return no_such_adapter(name, number);
  if (number == 1) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         fmt::format("adapter 1 of vm {} cannot be removed without the VM", name),
                         fmt::format("Remove the whole VM with: paravane vm remove {}", name));
  }
  const model::AdapterName port{name, number};
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  const auto state = now->find(port);
  const bool attached = state != now->end() && state->second.state != model::VmState::kDetached;
  if (attached && !force) return cannot_unplug(name, number);
  model::VmSpec narrower = vm.spec;
  model::erase_adapter(number, narrower);
  // The store first: if it cannot be written, the VM keeps its device.
  if (auto kept = write(narrower); !kept) return std::unexpected(kept.error());
  const auto removed = remove_ports({port}, force);
  if (removed && *removed) {
    vm.spec = std::move(narrower);
    vm.problems.erase(number);
    network_->apply();
    tell_cluster();
    changes_.info("{}: removed", to_string(port));
    tell_adapter("adapter.removed", port, "was removed");
    return status_after_change(vm);
  }
  // It was attached a moment ago, or the worker hangs: it stays.
  if (!write(vm.spec)) {
    changes_.error(
        "{}: still present, but will be lost after a restart, because the state cannot be written",
        to_string(port));
  }
  if (!removed) return std::unexpected(removed.error());
  return cannot_unplug(name, number);
}

model::ApiResult<model::VmStatus> Host::set_connected(const std::string& name, std::uint32_t number,
                                                      bool connected) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  Vm& vm = found->second;
  model::VmSpec changed = vm.spec;
  model::AdapterSpec* adapter = model::find_adapter(changed, number);
  if (adapter == nullptr) return no_such_adapter(name, number);
  const bool is_another = std::exchange(adapter->connected, connected) != connected;
  if (auto kept = write(changed); !kept) return std::unexpected(kept.error());
  vm.spec = std::move(changed);
  const model::AdapterName port{name, number};
  worker_->post([this, port, connected] { ports_->set_connected(port, connected); });
  const char* what = connected ? "connected to" : "disconnected from";
  changes_.info("{}: {} the switch", to_string(port), what);
  if (is_another) {
    tell_adapter(connected ? "adapter.connected" : "adapter.disconnected", port,
                 fmt::format("was {} the switch", what));
  }
  return status_after_change(vm);
}

std::uint32_t Host::makings_of(const model::AdapterName& adapter) const {
  const auto found = makings_.find(adapter);
  return found != makings_.end() ? found->second : 0;
}

std::vector<PortUse> Host::port_uses() const {
  std::vector<PortUse> uses;
  for (const auto& [name, vm] : vms_) {
    for (const model::AdapterSpec& adapter : vm.spec.adapters) {
      if (adapter.port_group.empty()) continue;
      uses.push_back(port_use(vm.spec, adapter));
    }
  }
  if (!storage_) return uses;
  for (const auto& [name, adapter] : storage_->in_port_groups()) {
    uses.push_back({.adapter = name,
                    .port_group = adapter.port_group,
                    .mac = adapter.mac,
                    .making = makings_of(name)});
  }
  return uses;
}

model::ApiResult<void> Host::check_port_groups(const model::VmSpec& spec) const {
  for (const model::AdapterSpec& adapter : spec.adapters) {
    auto good = network_->check_use(
        {.adapter = {spec.name, adapter.number}, .port_group = adapter.port_group});
    if (!good) return good;
  }
  return {};
}

// Between port groups also while the VM runs. Its VMM has the tap open or has none, so an
// adapter enters the first port group and leaves the last one only without it.
model::ApiResult<model::VmStatus> Host::move_adapters(Vm& vm, const model::VmSpec& moved) {
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  for (std::size_t i = 0; i < moved.adapters.size(); ++i) {
    const bool tap_changes =
        moved.adapters[i].port_group.empty() != vm.spec.adapters[i].port_group.empty();
    const auto state = now->find({moved.name, moved.adapters[i].number});
    const bool attached = state != now->end() && state->second.state != model::VmState::kDetached;
    if (tap_changes && attached) return cannot_change(moved.name);
  }
  if (auto kept = write(moved); !kept) return std::unexpected(kept.error());
  tell_moved(std::exchange(vm.spec, moved), moved);
  tell_cluster();
  for (const model::AdapterSpec& adapter : moved.adapters) {
    const model::AdapterName port{moved.name, adapter.number};
    worker_->post([this, port, segment = network_->segment_of(moved.name, adapter)] {
      ports_->set_segment(port, segment);
    });
  }
  network_->apply();
  tell_cluster();
  return status_after_change(vm);
}

model::ApiResult<void> Host::write(const model::VmSpec& spec) {
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto written = transaction->replace(spec); !written) return written;
  return transaction->commit();
}

bool Host::is_attached(const model::VmSpec& spec, const States& states) {
  return std::ranges::any_of(adapter_names(spec), [&states](const model::AdapterName& port) {
    const auto state = states.find(port);
    return state != states.end() && state->second.state != model::VmState::kDetached;
  });
}

}  // namespace paravane::host
