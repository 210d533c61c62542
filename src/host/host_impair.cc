// Host: what an operator has made worse on purpose. The worker knows it, and nobody
// writes it down.

#include <fmt/format.h>

#include "base/log.h"
#include "host/host.h"
#include "host/refusals.h"

namespace paravane::host {

using control::ApiErrorCode;
using control::ApiResult;
using control::ImpairmentStatus;

namespace {

std::unexpected<control::ApiError> no_such_peer(const std::string& name) {
  return control::refuse(
      ApiErrorCode::kNotFound, fmt::format("there is no vm {} on this host", name),
      "Only its VMs (paravane vm list) have names here. For another host's, give the GID or the "
      "IPv4 address of its adapter: 10.77.0.1 is the GID ::ffff:10.77.0.1.");
}

}  // namespace

ApiResult<ImpairmentStatus> Host::set_impairment(const control::Impairment& impairment) {
  if (!vms_.contains(impairment.vm)) return no_such_vm(impairment.vm);
  const bool by_name = impairment.peer != control::kAnyPeer && !control::parse_gid(impairment.peer);
  if (by_name && !vms_.contains(impairment.peer)) return no_such_peer(impairment.peer);
  const auto set =
      worker_->ask([this, impairment] { return ports_->impairments().set(impairment); });
  if (!set) return worker_is_busy();
  if (!*set) {
    return control::refuse(
        ApiErrorCode::kLimitReached,
        fmt::format("there are {} impairments already", control::kMaxImpairments),
        "Clear some with: paravane impair clear --vm NAME");
  }
  log::warn(
      "{}: what it sends to {} is impaired until that is cleared: loss {}, delay {}, "
      "reorder {}, rnr {}, seed {}",
      impairment.vm, impairment.peer, control::format_share(impairment.loss_ppm),
      control::format_delay(impairment.delay_us), control::format_share(impairment.reorder_ppm),
      control::format_share(impairment.rnr_ppm), impairment.seed);
  tell({.type = "impairment.set",
        .severity = control::Severity::kWarning,
        .fields = {{"vm", impairment.vm}, {"peer", impairment.peer}},
        .text = fmt::format("what vm {} sends to {} is impaired on purpose", impairment.vm,
                            impairment.peer)});
  return **set;
}

ApiResult<void> Host::clear_impairments(const std::optional<std::string>& vm) {
  if (vm && !vms_.contains(*vm)) return no_such_vm(*vm);
  const auto cleared = worker_->ask([this, vm] { return ports_->impairments().clear(vm); });
  if (!cleared) return worker_is_busy();
  if (*cleared) {
    log::info("{}: no impairments any more", vm.value_or("all VMs"));
    control::Event event{.type = "impairment.cleared",
                         .text = fmt::format("nothing that {} send{} is impaired any more",
                                             vm ? "vm " + *vm : "VMs", vm ? "s" : "")};
    if (vm) event.fields["vm"] = *vm;
    tell(std::move(event));
  }
  return {};
}

void Host::forget_impairments(const std::string& vm) {
  static_cast<void>(worker_->ask([this, vm] {
    ports_->impairments().forget_vm(vm);
    return true;
  }));
}

ApiResult<std::vector<ImpairmentStatus>> Host::list_impairments() {
  auto list = worker_->ask([this] { return ports_->impairments().list(); });
  if (!list) return worker_is_busy();
  return std::move(*list);
}

}  // namespace paravane::host
