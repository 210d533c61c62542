// FakeManagement: an operator's door to a daemon that is not there: it keeps VMs
// in a map and answers as the daemon would.
//
// One thread.

#pragma once

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
    if (!vm.spec.mac) vm.spec.mac = control::mac_for_name(spec.name);
    vm.socket = "/run/paravane/vm/" + spec.name + ".sock";
    return vm;
  }

  control::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (found->second.state != control::VmState::kDetached && !force) return attached(name);
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
      if (vm.state != control::VmState::kDetached && !force) return attached(name);
    }
    ++stops;
    return {};
  }

  std::map<std::string, control::VmStatus> vms;
  unsigned stops = 0;
  std::optional<control::ApiError> fault;  // the answer to everything

 private:
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
