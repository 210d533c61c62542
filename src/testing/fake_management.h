// FakeManagement: an operator's door to a daemon that is not there: it keeps VMs
// in a map and answers as the daemon would.
//
// One thread.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/management.h"

namespace paravane {

class FakeManagement final : public control::Management {
 public:
  control::ApiResult<control::VmStatus> add_vm(const control::VmSpec& spec) override {
    if (fault) return std::unexpected(*fault);
    if (vms.contains(spec.name)) {
      return control::refuse(control::ApiErrorCode::kExists, "vm " + spec.name + " exists already");
    }
    control::VmStatus& vm = vms[spec.name];
    vm.spec = spec;
    fill_in(vm);
    return vm;
  }

  control::ApiResult<control::VmStatus> set_vm(const std::string& name,
                                               const control::VmChange& change) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (is_attached(found->second)) return attached(name);
    auto changed = control::apply(change, found->second.spec);
    if (!changed) return std::unexpected(changed.error());
    found->second.spec = std::move(*changed);
    return found->second;
  }

  control::ApiResult<control::VmStatus> add_adapter(
      const std::string& name, const control::AdapterRequest& request) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    control::VmStatus& vm = found->second;
    const auto adapter = control::next_adapter(request, vm.spec);
    if (!adapter) return std::unexpected(adapter.error());
    control::VmSpec wider = vm.spec;
    control::insert_adapter(*adapter, wider);
    if (const Status good = control::check_spec(wider); !good) {
      return control::refuse(control::ApiErrorCode::kMacInUse, good.error().message);
    }
    vm.spec = std::move(wider);
    fill_in(vm);
    return vm;
  }

  control::ApiResult<control::VmStatus> remove_adapter(const std::string& name,
                                                       std::uint32_t number, bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    control::VmStatus& vm = found->second;
    if (number == 1 || control::find_adapter(vm.spec, number) == nullptr) return missing(name);
    if (is_attached(vm) && !force) return attached(name);
    control::erase_adapter(number, vm.spec);
    fill_in(vm);
    return vm;
  }

  control::ApiResult<control::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                      bool connected) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    control::AdapterSpec* adapter = control::find_adapter(found->second.spec, number);
    if (adapter == nullptr) return missing(name);
    adapter->connected = connected;
    return found->second;
  }

  control::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (is_attached(found->second) && !force) return attached(name);
    vms.erase(found);
    return {};
  }

  control::ApiResult<std::vector<control::VmStatus>> list_vms() override {
    if (fault) return std::unexpected(*fault);
    std::vector<control::VmStatus> list;
    for (const auto& [name, vm] : vms) list.push_back(vm);
    return list;
  }

  control::ApiResult<control::VmStatus> find_vm(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    return found->second;
  }

  control::ApiResult<control::DaemonStatus> status() override {
    if (fault) return std::unexpected(*fault);
    return control::DaemonStatus{.version = "1.2.3",
                                 .pid = 77,
                                 .uptime_seconds = 5,
                                 .vms = vms.size(),
                                 .attached = 0,
                                 .state_dir = "/state",
                                 .socket_dir = "/sockets",
                                 .config_file = "/config"};
  }

  control::ApiResult<control::Stats> stats(const std::optional<std::string>& vm) override {
    if (fault) return std::unexpected(*fault);
    if (vm && !vms.contains(*vm)) return missing(*vm);
    control::Stats stats{.daemon = {{.name = "worker", .counters = {{"rounds", "rounds", 9}}}},
                         .vms = {}};
    for (const auto& [name, known] : vms) {
      if (vm && name != *vm) continue;
      stats.vms.push_back({.name = name,
                           .groups = {{.name = "engine", .counters = {{"sends", "sends", 1}}}},
                           .objects = {.name = "objects", .counters = {}},
                           .queue_pairs = {}});
    }
    return stats;
  }

  control::ApiResult<void> stop(bool force) override {
    if (fault) return std::unexpected(*fault);
    for (const auto& [name, vm] : vms) {
      if (is_attached(vm) && !force) return attached(name);
    }
    ++stops;
    return {};
  }

  std::map<std::string, control::VmStatus> vms;
  unsigned stops = 0;
  std::optional<control::ApiError> fault;  // the answer to everything

 private:
  static bool is_attached(const control::VmStatus& vm) {
    return std::ranges::any_of(vm.adapters, [](const control::AdapterStatus& adapter) {
      return adapter.state != control::VmState::kDetached;
    });
  }
  static void fill_in(control::VmStatus& vm) {
    vm.adapters.resize(vm.spec.adapters.size());
    for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
      control::AdapterSpec& adapter = vm.spec.adapters[i];
      const std::string name = control::adapter_name(vm.spec.name, adapter.number);
      if (!adapter.mac) adapter.mac = control::mac_for_name(name);
      vm.adapters[i].socket =
          "/run/paravane/vm/" + control::socket_file(vm.spec.name, adapter.number);
    }
  }
  static std::unexpected<control::ApiError> missing(const std::string& name) {
    return control::refuse(control::ApiErrorCode::kNotFound, "there is no vm " + name);
  }
  static std::unexpected<control::ApiError> attached(const std::string& name) {
    return std::unexpected(control::ApiError{.code = control::ApiErrorCode::kVmsAttached,
                                             .message = "vm " + name + " is attached",
                                             .remedy = "Shut it down.",
                                             .vms = {name}});
  }
};

}  // namespace paravane
