// Host: impairments that an operator has set. The worker keeps them, and they are not
// stored.

#include <fmt/core.h>

#include "host/host.h"
#include "host/refusals.h"

namespace paravane::host {

using model::ApiResult;
using model::ImpairmentStatus;

namespace {

std::unexpected<model::ApiError> no_such_peer(const std::string& name) {
  return model::refuse(
      model::ApiErrorCode::kNotFound, fmt::format("vm {} does not exist on this host", name),
      "Only VMs on this host (paravane vm list) can be given by name. For a VM on another host, "
      "use the GID or the IPv4 address of its adapter: 10.77.0.1 is the GID ::ffff:10.77.0.1.");
}

}  // namespace

model::ApiResult<model::ImpairmentStatus> Host::set_impairment(
    const model::Impairment& impairment) {
  if (!vms_.contains(impairment.vm)) return no_such_vm(impairment.vm);
  const bool by_name = impairment.peer != model::kAnyPeer && !model::parse_gid(impairment.peer);
  if (by_name && !vms_.contains(impairment.peer)) return no_such_peer(impairment.peer);
  const auto set =
      worker_->ask([this, impairment] { return ports_->impairments().set(impairment); });
  if (!set) return worker_is_busy();
  if (!*set) {
    return model::refuse(
        model::ApiErrorCode::kLimitReached,
        fmt::format("the limit of {} impairments is reached", model::kMaxImpairments),
        "Clear impairments with: paravane impair clear --vm NAME");
  }
  changes_.warn(
      "{}: impairment of traffic to {} enabled: loss {}, delay {}, reorder {}, rnr {}, seed {}",
      impairment.vm, impairment.peer, model::format_share(impairment.loss_ppm),
      model::format_delay(impairment.delay_us), model::format_share(impairment.reorder_ppm),
      model::format_share(impairment.rnr_ppm), impairment.seed);
  tell({.type = "impairment.set",
        .severity = model::Severity::kWarning,
        .fields = {{"vm", impairment.vm}, {"peer", impairment.peer}},
        .text = fmt::format("traffic from vm {} to {} is impaired on purpose", impairment.vm,
                            impairment.peer)});
  return **set;
}

model::ApiResult<void> Host::clear_impairments(const std::optional<std::string>& vm) {
  if (vm && !vms_.contains(*vm)) return no_such_vm(*vm);
  const auto cleared = worker_->ask([this, vm] { return ports_->impairments().clear(vm); });
  if (!cleared) return worker_is_busy();
  if (*cleared) {
    changes_.info("{}: all impairments cleared", vm.value_or("all VMs"));
    model::Event event{
        .type = "impairment.cleared",
        .text = fmt::format("all impairments of {} were cleared", vm ? "vm " + *vm : "VMs")};
    if (vm) event.fields["vm"] = *vm;
    tell(std::move(event));
  }
  return {};
}

void Host::forget_impairments(const std::string& vm) {
  worker_->post([this, vm] { ports_->impairments().forget_vm(vm); });
}

model::ApiResult<std::vector<model::ImpairmentStatus>> Host::list_impairments() {
  auto list = worker_->ask([this] { return ports_->impairments().list(); });
  if (!list) return worker_is_busy();
  return std::move(*list);
}

}  // namespace paravane::host
