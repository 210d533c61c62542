// Host: whole again, after something broke off for want of memory. The store has what was decided:
// what this thread knows and what the worker has follow it.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/undo.h"
#include "host/host.h"

namespace paravane::host {

void Host::settle() {
  if (!unsettled_.exchange(false)) return;
  Undo again([this] { unsettled_ = true; });
  const auto specs = store_->vms();
  const auto there = states();
  if (!specs || !there) return;
  std::map<std::string, Vm> kept;
  for (const model::VmSpec& spec : *specs) kept[spec.name].spec = spec;
  if (!remove_ports(ports_to_remove(kept, *there), true)) return;
  vms_ = std::move(kept);
  const auto left = states();
  if (!left || !make_missing_ports(*left)) return;
  // What the worker was told of RoCE ports may be lost, too.
  roce_closed_.clear();
  for (const PortUse& use : port_uses()) forget_roce(use.adapter);
  network_->settle();
  storage_->apply();
  tell_cluster();
  if (channels_ != nullptr) channels_->tell_again();
  again.keep();
  changes_.warn("operations interrupted by lack of memory are complete: {} VMs", vms_.size());
}

// Those that no VM has, and those of a VM that is not as it was: but while a VMM is attached it
// keeps what it has.
std::vector<model::AdapterName> Host::ports_to_remove(const std::map<std::string, Vm>& kept,
                                                      const States& there) const {
  std::vector<model::AdapterName> going;
  for (const auto& [port, state] : there) {
    const auto vm = kept.find(port.vm);
    const bool is_wanted =
        vm != kept.end() && find_adapter(vm->second.spec, port.number) != nullptr;
    const auto old = vms_.find(port.vm);
    const bool is_same = is_wanted && old != vms_.end() && old->second.spec == vm->second.spec;
    const bool is_attached = state.state != model::VmState::kDetached;
    if (!is_wanted || (!is_same && !is_attached)) going.push_back(port);
  }
  return going;
}

// False: the worker did not answer.
bool Host::make_missing_ports(const States& there) {
  for (auto& [name, vm] : vms_) {
    for (const model::AdapterSpec& adapter : vm.spec.adapters) {
      const model::AdapterName port{name, adapter.number};
      if (there.contains(port)) continue;
      const auto made = make_port(vm.spec, adapter);
      if (made) continue;
      if (made.error().code == model::ApiErrorCode::kBusy) return false;
      vm.problems[adapter.number] = made.error().message;
      changes_.error("{}: {}", to_string(port), made.error().message);
    }
  }
  return true;
}

}  // namespace paravane::host
