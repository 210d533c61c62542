#include "host/host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "api/vm_json.h"
#include "base/nearest_name.h"
#include "base/version.h"
#include "host/directory_lock.h"
#include "host/port_config.h"
#include "host/refusals.h"
#include "model/interface_name.h"
#include "model/lun_disk.h"

namespace paravane::host {

using model::ApiResult;
using model::VmStatus;

model::ApiResult<model::VmStatus> Host::add_vm(const model::VmSpec& asked) {
  model::VmSpec spec = asked;
  if (auto room = check_room(spec); !room) return std::unexpected(room.error());
  if (auto good = check_port_groups(spec); !good) return std::unexpected(good.error());
  if (auto good = check_luns(spec); !good) return std::unexpected(good.error());
  for (model::AdapterSpec& adapter : spec.adapters) {
    if (!adapter.mac) adapter.mac = choose_mac(spec, adapter.number);
  }
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto written = transaction->insert(spec); !written) return std::unexpected(written.error());
  if (auto made = make_ports(spec); !made) return std::unexpected(made.error());
  if (auto kept = transaction->commit(); !kept) {
    take_back_ports(adapter_names(spec));
    return std::unexpected(kept.error());
  }
  const Vm& vm = vms_[spec.name] = {.spec = spec, .problems = {}};
  network_->apply();
  changes_.info("{}: added, MAC {}, socket {}", spec.name, model::format_mac(*spec.adapters[0].mac),
                status_of(vm, {}).adapters[0].socket);
  tell_vm("vm.added", spec.name, fmt::format("vm {} was added", spec.name));
  tell_cluster();
  return status_of(vm, {});
}

std::vector<model::VmSpec> Host::specs() const {
  std::vector<model::VmSpec> specs;
  for (const auto& [name, vm] : vms_) specs.push_back(vm.spec);
  return specs;
}

model::ApiResult<void> Host::check_luns(const model::VmSpec& spec) const {
  return model::check_luns(spec, specs());
}

model::ApiResult<void> Host::check_room(const model::VmSpec& spec) const {
  if (auto may = check_cluster(); !may) return may;
  if (vms_.contains(spec.name)) {
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("vm {} already exists", spec.name),
                         "Choose another name, or remove that VM first.");
  }
  if (const auto known = store_->find_left_out(model::kLeftOutVm, spec.name)) {
    return is_left_out(*known);
  }
  if (vms_.size() >= config_.config.vfio_user.max_vms) {
    return model::refuse(model::ApiErrorCode::kLimitReached,
                         fmt::format("the limit of {} VMs is reached", vms_.size()),
                         "Remove a VM, or raise vfio_user.max_vms in paravaned.toml.");
  }
  for (const model::AdapterSpec& adapter : spec.adapters) {
    if (auto free = check_free(spec, adapter); !free) return free;
  }
  return check_adapter_count(spec);
}

model::ApiResult<void> Host::check_free(const model::VmSpec& spec,
                                        const model::AdapterSpec& adapter) const {
  if (adapter.mac) {
    if (auto free = check_mac(*adapter.mac); !free) return free;
  }
  if (adapter.mac && mac_taken(*adapter.mac)) {
    return model::refuse(model::ApiErrorCode::kMacInUse,
                         fmt::format("MAC address {} belongs to another VM or adapter",
                                     model::format_mac(*adapter.mac)),
                         "Choose another address, or omit it to let the daemon choose one.");
  }
  const std::string file = model::socket_file(spec.name, adapter.number);
  for (const auto& [name, vm] : vms_) {
    for (const model::AdapterSpec& other : vm.spec.adapters) {
      if (model::socket_file(name, other.number) != file) continue;
      return model::refuse(
          model::ApiErrorCode::kExists,
          fmt::format("{} is already the socket of vm {}, adapter {}", file, name, other.number),
          "Choose another name, or remove that VM first.");
    }
  }
  return {};
}

bool Host::mac_taken(const model::MacAddress& mac) const {
  if (!check_mac(mac)) return true;
  return std::ranges::any_of(vms_, [&mac](const auto& vm) {
    return std::ranges::any_of(vm.second.spec.adapters, [&mac](const model::AdapterSpec& adapter) {
      return adapter.mac == mac;
    });
  });
}

model::MacAddress Host::choose_mac(const model::VmSpec& spec, std::uint32_t number) const {
  const std::string name = address_seed_ + "/" + to_string(model::AdapterName{spec.name, number});
  const auto taken = [&](const model::MacAddress& mac) {
    return mac_taken(mac) ||
           std::ranges::find(spec.adapters, mac, &model::AdapterSpec::mac) != spec.adapters.end();
  };
  model::MacAddress mac{};
  unsigned attempt = 0;
  do {
    mac = model::mac_for_name(name, attempt++);
  } while (taken(mac));
  return mac;
}

model::ApiResult<void> Host::remove_vm(const std::string& name, bool force) {
  const auto found = vms_.find(name);
  if (found == vms_.end() && store_->find_left_out(model::kLeftOutVm, name)) {
    return remove_left_out_vm(name);
  }
  if (found == vms_.end()) return no_such_vm(name);
  const std::vector<std::string> attached = attached_vms();
  if (!force && std::ranges::find(attached, name) != attached.end()) {
    return vm_attached(name);
  }
  // The store first: if it cannot be written, the VM keeps its device.
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto deleted = transaction->remove(name); !deleted) return deleted;
  if (auto kept = transaction->commit(); !kept) return kept;
  const auto removed = remove_ports(adapter_names(found->second.spec), force);
  if (removed && *removed) {
    vms_.erase(found);
    forget_impairments(name);
    network_->apply();
    tell_cluster();
    changes_.info("{}: removed", name);
    tell_vm("vm.removed", name, fmt::format("vm {} was removed", name));
    return {};
  }
  // It was attached a moment ago, or the worker hangs: it stays.
  auto again = store_->begin();
  if (!again || !again->insert(found->second.spec) || !again->commit()) {
    changes_.error(
        "{}: still present, but will be lost after a restart, because the state cannot be written",
        name);
  }
  if (!removed) return std::unexpected(removed.error());
  return vm_attached(name);
}

model::ApiResult<std::vector<model::VmStatus>> Host::list_vms() {
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  std::vector<model::VmStatus> list;
  list.reserve(vms_.size());
  for (const auto& [name, vm] : vms_) list.push_back(status_of(vm, *now));
  return list;
}

model::ApiResult<model::VmStatus> Host::find_vm(const std::string& name) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  return status_of(found->second, *now);
}

model::ApiResult<model::VmStatus> Host::status_after_change(const Vm& vm) {
  const auto now = states();
  if (now) return status_of(vm, *now);
  return model::refuse(
      model::ApiErrorCode::kBusy,
      fmt::format("vm {} was changed, but the worker did not respond in time", vm.spec.name),
      fmt::format("Check the VM's state with: paravane vm show {}", vm.spec.name));
}

model::ApiResult<model::DaemonStatus> Host::status() {
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  const auto impairments = list_impairments();
  if (!impairments) return std::unexpected(impairments.error());
  const auto attached = std::ranges::count_if(
      vms_, [&now](const auto& vm) { return is_attached(vm.second.spec, *now); });
  const auto uptime = std::chrono::steady_clock::now() - started_;
  return model::DaemonStatus{
      .version = kVersion,
      .pid = ::getppid(),  // the keeper is what was started, and what ends last
      .uptime_seconds = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(uptime).count()),
      .vms = vms_.size(),
      .attached = static_cast<std::uint64_t>(attached),
      .state_dir = config_.config.state_dir.string(),
      .socket_dir = config_.config.vfio_user.socket_dir.string(),
      .config_file = config_.config_file,
      .host = network_->host(),
      .impairments = impairments->size(),
      .left_out = left_out(),
      .upgrade = upgrade_,
      .keeper = keeper_};
}

model::ApiResult<model::Stats> Host::stats(const std::optional<std::string>& vm) {
  if (vm && !vms_.contains(*vm)) return no_such_vm(*vm);
  model::Stats stats;
  const auto shared = worker_->ask([this] { return ports_->shared_stats(); });
  if (!shared) return worker_is_busy();
  stats.daemon = *shared;
  for (const auto& [name, known] : vms_) {
    if (vm && name != *vm) continue;
    for (const model::AdapterSpec& adapter : known.spec.adapters) {
      // One question each, so that no turn of the worker gets long.
      auto answer = worker_->ask(
          [this, port = model::AdapterName{name, adapter.number}] { return ports_->stats(port); });
      if (!answer) return worker_is_busy();
      if (!*answer) continue;
      stats.vms.push_back(std::move(**answer));
    }
  }
  return stats;
}

model::ApiResult<void> Host::stop(bool force) {
  std::vector<std::string> attached = attached_vms();
  if (!attached.empty() && !force) {
    std::string message =
        fmt::format("{} VM{} attached: {}", attached.size(), attached.size() == 1 ? " is" : "s are",
                    fmt::join(attached, ", "));
    return vms_attached(std::move(attached), std::move(message));
  }
  changes_.info("stop requested by an operator{}", force ? ", forced" : "");
  on_stop_();
  return {};
}

std::vector<std::string> Host::attached_vms() {
  std::vector<std::string> names;
  const auto now = states();
  if (!now) return names;
  for (const auto& [name, vm] : vms_) {
    if (is_attached(vm.spec, *now)) names.push_back(name);
  }
  return names;
}

model::ApiResult<Host::States> Host::states() {
  auto answer = worker_->ask([this] { return ports_->states(); });
  if (!answer) return worker_is_busy();
  return std::move(*answer);
}

std::unexpected<model::ApiError> Host::no_such_vm(const std::string& name) const {
  if (const auto known = store_->find_left_out(model::kLeftOutVm, name)) {
    return is_left_out(*known);
  }
  return model::refuse(
      model::ApiErrorCode::kNotFound, fmt::format("vm {} does not exist", name),
      do_you_mean(name, std::views::keys(vms_)) + "List the VMs with: paravane vm list");
}

model::VmStatus Host::status_of(const Vm& vm, const States& states) const {
  model::VmStatus status{.spec = vm.spec, .adapters = {}, .revision = api::revision_of(vm.spec)};
  for (const model::AdapterSpec& adapter : vm.spec.adapters) {
    const std::string file = model::socket_file(vm.spec.name, adapter.number);
    model::AdapterStatus one{.socket = (config_.config.vfio_user.socket_dir / file).string()};
    const auto found = states.find({vm.spec.name, adapter.number});
    if (found != states.end()) {
      one.state = found->second.state;
      one.pid = found->second.pid;
    }
    one.roce = roce_status(port_use(vm.spec, adapter));
    if (!adapter.port_group.empty()) {
      one.tap = model::tap_name(vm.spec.name, adapter.number);
      HostNetwork::TapProblem tap = network_->tap_problem(
          {.adapter = {vm.spec.name, adapter.number}, .port_group = adapter.port_group});
      one.problem = std::move(tap.text);
      one.fault = tap.fault;
    }
    if (const auto problem = vm.problems.find(adapter.number); problem != vm.problems.end()) {
      one.state = model::VmState::kFailed;
      one.problem = problem->second;
    }
    status.adapters.push_back(std::move(one));
  }
  return status;
}

}  // namespace paravane::host
