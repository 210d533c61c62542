#include "daemon/host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "daemon/directory_lock.h"
#include "daemon/port_config.h"
#include "daemon/version.h"

namespace paravane::daemon {

using control::ApiErrorCode;
using control::ApiResult;
using control::refuse;
using control::VmSpec;
using control::VmStatus;

namespace {

constexpr const char* kListThem = "List the VMs there are with: paravane vm list";

std::unexpected<control::ApiError> worker_is_busy() {
  return refuse(ApiErrorCode::kBusy, "the worker did not answer in time",
                "Ask again; see with paravane status and paravane vm list what was done.");
}

std::unexpected<control::ApiError> no_such_vm(const std::string& name) {
  return refuse(ApiErrorCode::kNotFound, fmt::format("there is no vm {}", name), kListThem);
}

std::unexpected<control::ApiError> vms_attached(std::vector<std::string> names,
                                                std::string message) {
  return std::unexpected(
      control::ApiError{.code = ApiErrorCode::kVmsAttached,
                        .message = std::move(message),
                        .remedy = "Shut these VMs down first. With --force they lose their RDMA "
                                  "device until each is restarted.",
                        .vms = std::move(names)});
}

}  // namespace

ApiResult<VmStatus> Host::add_vm(const VmSpec& asked) {
  VmSpec spec = asked;
  if (auto room = check_room(spec); !room) return std::unexpected(room.error());
  if (!spec.mac) spec.mac = choose_mac(spec.name);
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto written = transaction->insert(spec); !written) return std::unexpected(written.error());
  if (auto made = make_port(spec); !made) return std::unexpected(made.error());
  if (auto kept = transaction->commit(); !kept) {
    const auto undone = remove_port(spec.name, true);
    if (!undone) log::error("{}: could not be taken back: {}", spec.name, undone.error().message);
    return std::unexpected(kept.error());
  }
  vms_[spec.name] = {.spec = spec, .problem = {}};
  log::info("{}: added, MAC {}, socket {}", spec.name, control::format_mac(*spec.mac),
            socket_of(spec.name).string());
  return status_of(vms_[spec.name], {});
}

ApiResult<void> Host::check_room(const VmSpec& spec) const {
  if (vms_.contains(spec.name)) {
    return refuse(ApiErrorCode::kExists, fmt::format("vm {} exists already", spec.name),
                  "Choose another name, or remove that VM first.");
  }
  if (vms_.size() >= config_.config.vfio_user.max_vms) {
    return refuse(ApiErrorCode::kLimitReached, fmt::format("there are {} VMs already", vms_.size()),
                  "Remove one, or raise vfio_user.max_vms in paravaned.toml.");
  }
  if (spec.mac && mac_taken(*spec.mac)) {
    return refuse(
        ApiErrorCode::kMacInUse,
        fmt::format("MAC address {} belongs to another VM", control::format_mac(*spec.mac)),
        "Choose another address, or leave it out to have one chosen.");
  }
  return {};
}

bool Host::mac_taken(const control::MacAddress& mac) const {
  return std::ranges::any_of(vms_, [&mac](const auto& vm) { return vm.second.spec.mac == mac; });
}

control::MacAddress Host::choose_mac(const std::string& name) const {
  control::MacAddress mac{};
  unsigned attempt = 0;
  do {
    mac = control::mac_for_name(name, attempt++);
  } while (mac_taken(mac));
  return mac;
}

ApiResult<void> Host::remove_vm(const std::string& name, bool force) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  const std::vector<std::string> attached = attached_vms();
  if (!force && std::ranges::find(attached, name) != attached.end()) {
    return vms_attached({name}, fmt::format("vm {} is attached", name));
  }
  // The store first: if it cannot be written, the VM keeps its device.
  auto transaction = store_->begin();
  if (!transaction) return std::unexpected(transaction.error());
  if (auto deleted = transaction->remove(name); !deleted) return deleted;
  if (auto kept = transaction->commit(); !kept) return kept;
  const auto removed = remove_port(name, force);
  if (removed && *removed) {
    vms_.erase(found);
    log::info("{}: removed", name);
    return {};
  }
  // It was attached a moment ago, or the worker hangs: it stays.
  auto again = store_->begin();
  if (!again || !again->insert(found->second.spec) || !again->commit()) {
    log::error("{}: is still there but will be gone after a restart: the state cannot be written",
               name);
  }
  if (!removed) return std::unexpected(removed.error());
  return vms_attached({name}, fmt::format("vm {} is attached", name));
}

ApiResult<std::vector<VmStatus>> Host::list_vms() {
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  std::vector<VmStatus> list;
  list.reserve(vms_.size());
  for (const auto& [name, vm] : vms_) list.push_back(status_of(vm, *now));
  return list;
}

ApiResult<VmStatus> Host::find_vm(const std::string& name) {
  const auto found = vms_.find(name);
  if (found == vms_.end()) return no_such_vm(name);
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  return status_of(found->second, *now);
}

ApiResult<control::DaemonStatus> Host::status() {
  const auto now = states();
  if (!now) return std::unexpected(now.error());
  const auto attached = std::ranges::count_if(
      *now, [](const auto& state) { return state.second.state != control::VmState::kDetached; });
  const auto uptime = std::chrono::steady_clock::now() - started_;
  return control::DaemonStatus{
      .version = kVersion,
      .pid = ::getpid(),
      .uptime_seconds = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(uptime).count()),
      .vms = vms_.size(),
      .attached = static_cast<std::uint64_t>(attached),
      .state_dir = config_.config.state_dir.string(),
      .socket_dir = config_.config.vfio_user.socket_dir.string(),
      .config_file = config_.config_file};
}

ApiResult<control::Stats> Host::stats(const std::optional<std::string>& vm) {
  if (vm && !vms_.contains(*vm)) return no_such_vm(*vm);
  control::Stats stats;
  const auto shared = worker_->ask([this] { return ports_->shared_stats(); });
  if (!shared) return worker_is_busy();
  stats.daemon = *shared;
  for (const auto& [name, known] : vms_) {
    if (vm && name != *vm) continue;
    // One question per VM, so that no turn of the worker gets long.
    auto answer = worker_->ask([this, name] { return ports_->stats(name); });
    if (!answer) return worker_is_busy();
    if (*answer) stats.vms.push_back(std::move(**answer));
  }
  return stats;
}

ApiResult<void> Host::stop(bool force) {
  std::vector<std::string> attached = attached_vms();
  if (!attached.empty() && !force) {
    std::string message =
        fmt::format("{} VM{} attached: {}", attached.size(), attached.size() == 1 ? " is" : "s are",
                    fmt::join(attached, ", "));
    return vms_attached(std::move(attached), std::move(message));
  }
  log::info("told to stop by an operator{}", force ? ", by force" : "");
  on_stop_();
  return {};
}

std::vector<std::string> Host::attached_vms() {
  std::vector<std::string> names;
  const auto now = states();
  if (!now) return names;
  for (const auto& [name, state] : *now) {
    if (state.state != control::VmState::kDetached) names.push_back(name);
  }
  return names;
}

ApiResult<Host::States> Host::states() {
  auto answer = worker_->ask([this] { return ports_->states(); });
  if (!answer) return worker_is_busy();
  return std::move(*answer);
}

VmStatus Host::status_of(const Vm& vm, const States& states) const {
  VmStatus status{
      .spec = vm.spec, .socket = socket_of(vm.spec.name).string(), .problem = vm.problem};
  if (const auto found = states.find(vm.spec.name); found != states.end()) {
    status.state = found->second.state;
    status.pid = found->second.pid;
  }
  if (!vm.problem.empty()) status.state = control::VmState::kFailed;
  return status;
}

std::filesystem::path Host::socket_of(const std::string& name) const {
  return config_.config.vfio_user.socket_dir / (name + ".sock");
}

}  // namespace paravane::daemon
