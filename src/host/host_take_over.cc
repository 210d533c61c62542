// Host: how it hands over what it has to the engine that replaces this one, and how it takes over.

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/version.h"
#include "host/host.h"
#include "host/refusals.h"
#include "subnet_host/subnet_parcel.h"

namespace paravane::host {

using model::UpgradeState;

namespace {

// Their channels are made anew, and the inventory is read. As long as other hosts wait for this
// one.
constexpr Duration kAwaitOthers = std::chrono::seconds(10);

// The cause of an upgrade that fails, of which 255 bytes are told: the end of a long one is lost.
std::unexpected<model::ApiError> cannot_adopt(const model::AdapterName& name,
                                              const std::string& why) {
  return model::refuse(model::ApiErrorCode::kInternal,
                       fmt::format("vm {}, adapter {}: {}; shut this VM down and upgrade again",
                                   name.vm, name.number, why));
}

// Of an adapter that the engine before had. It is compared with what such an adapter may need
// before it is read.
model::ApiResult<std::vector<std::byte>> state_in(const privsep::Parcel& parcel,
                                                  const worker::VmPortConfig& config) {
  const std::uint64_t most = worker::most_state_bytes(config);
  if (parcel.bytes() > most) {
    return model::refuse(
        model::ApiErrorCode::kInternal,
        fmt::format("its state has {} bytes, and at most {} may be needed", parcel.bytes(), most));
  }
  auto state = parcel.read();
  if (!state) return model::refuse(model::ApiErrorCode::kInternal, state.error().message);
  return std::move(*state);
}

}  // namespace

privsep::HeirFacts own_facts() {
  return {.version = kVersion,
          .store_schema = store::kStoreVersion,
          .state_format = worker::kPortStateFormat,
          .keeper_record = privsep::kKeeperRecord};
}

Status check_heir(const privsep::HeirFacts& heir) {
  const privsep::HeirFacts own = own_facts();
  if (heir.store_schema != own.store_schema) {
    return fail(Errc::kUnsupported,
                fmt::format("paravaned {} changes the state directory (schema {}; this one writes "
                            "{}), so this upgrade requires a restart",
                            heir.version, heir.store_schema, own.store_schema));
  }
  if (heir.state_format != own.state_format) {
    return fail(Errc::kUnsupported,
                fmt::format("paravaned {} reads another format of running adapters ({}; this one "
                            "writes {}), so this upgrade requires a restart",
                            heir.version, heir.state_format, own.state_format));
  }
  return {};
}

// ---- The engine that is replaced ----

model::ApiResult<void> Host::upgrade(bool only_check) {
  if (upgrade_.state == UpgradeState::kUnderWay) {
    return model::refuse(model::ApiErrorCode::kBusy, "an upgrade is under way",
                         "See how it went with: paravane status");
  }
  if (!config_.on_upgrade || !config_.on_upgrade(only_check)) {
    return model::refuse(model::ApiErrorCode::kInternal,
                         "the privileged process cannot be reached");
  }
  upgrade_ = {.state = UpgradeState::kUnderWay, .from = kVersion};
  changes_.info("{} requested by an operator", only_check ? "check of an upgrade" : "upgrade");
  return {};
}

void Host::hold_peers(Duration time) {
  worker_->post([ports = ports_.get(), time] { ports->hold_peers(time); });
}

std::vector<worker::HeldPeer> Host::held_peers() {
  return worker_->ask([this] { return ports_->held_peers(); })
      .value_or(std::vector<worker::HeldPeer>());
}

Result<std::vector<worker::PortParcel>> Host::freeze() {
  Result<std::vector<worker::PortParcel>> ports =
      fail(Errc::kIo, "the worker did not respond in time");
  // The answer is on this stack until the worker stands still or never begins.
  const bool frozen = worker_->freeze([this, &ports] { ports = ports_->save_ports(); });
  if (!frozen && ports) return fail(Errc::kResourceExhausted, "out of memory");
  return ports;
}

std::vector<std::byte> Host::freeze_subnet() {
  return infiniband_ ? infiniband_->freeze() : std::vector<std::byte>();
}

void Host::thaw() {
  worker_->thaw();
  if (infiniband_) infiniband_->thaw();
}

std::vector<std::pair<std::string, int>> Host::locks() const {
  std::vector<std::pair<std::string, int>> locks;
  for (const auto& [name, lock] : locks_) locks.emplace_back(name, lock.fd());
  return locks;
}

// ---- The engine that replaces another ----

model::ApiResult<void> Host::inherit_directories() {
  for (const auto& [directory, setting] : own_directories()) {
    const auto given = inheritance_->locks.find(lock_parcel(setting));
    const bool is_there = given != inheritance_->locks.end();
    auto lock = is_there || !inheritance_->is_kept
                    ? DirectoryLock::inherit(is_there ? std::move(given->second) : UniqueFd(),
                                             directory, setting)
                    : DirectoryLock::take(directory, setting);
    if (!lock) return std::unexpected(lock.error());
    locks_.emplace_back(lock_parcel(setting), std::move(*lock));
  }
  return {};
}

// VMs whose adapters were not handed over are left for begin().
model::ApiResult<void> Host::adopt_vms() {
  const auto specs = store_->vms();
  if (!specs) return std::unexpected(specs.error());
  for (const model::VmSpec& spec : *specs) {
    vms_.emplace(spec.name, Vm{.spec = spec, .problems = {}});
    for (const model::AdapterSpec& adapter : spec.adapters) {
      const auto adopted =
          inheritance_->is_kept ? take_up_port(spec, adapter) : adopt_port(spec, adapter);
      if (!adopted) return cannot_adopt({spec.name, adapter.number}, adopted.error().message);
    }
  }
  if (inheritance_->adapters.empty() || inheritance_->is_kept) return {};
  return model::refuse(model::ApiErrorCode::kInternal,
                       fmt::format("{} belongs to no VM", inheritance_->adapters.begin()->first));
}

model::ApiResult<void> Host::adopt_port(const model::VmSpec& spec,
                                        const model::AdapterSpec& adapter) {
  const model::AdapterName name{spec.name, adapter.number};
  auto given = inheritance_->adapters.extract(adapter_parcel(name));
  if (given.empty()) return {};
  auto state = state_in(given.mapped(), port_config(spec, adapter));
  if (!state) return std::unexpected(state.error());
  return adopt_parcel(spec, adapter,
                      {.adapter = name,
                       .state = std::move(*state),
                       .descriptors = std::move(given.mapped().descriptors),
                       .may_be_blamed = !inheritance_->blames_nothing});
}

// What was kept of an adapter may be too old, or wrong: one that is refused loses its VMM, and
// the other VMs nothing.
model::ApiResult<void> Host::take_up_port(const model::VmSpec& spec,
                                          const model::AdapterSpec& adapter) {
  const auto given = inheritance_->adapters.find(adapter_parcel({spec.name, adapter.number}));
  if (given == inheritance_->adapters.end()) return {};
  std::vector<UniqueFd> copies;
  for (const UniqueFd& one : given->second.descriptors) {
    copies.emplace_back(::fcntl(one.get(), F_DUPFD_CLOEXEC, 0));
  }
  auto state = state_in(given->second, port_config(spec, adapter));
  const auto adopted = adopt_port(spec, adapter);
  if (adopted) return {};
  const model::AdapterName name{spec.name, adapter.number};
  changes_.error(
      "{}: its VMM is disconnected, because the adapter cannot be taken over from the "
      "engine that was killed: {}",
      to_string(name), adopted.error().message);
  tell_failed(name, adopted.error().message);
  if (!state) return {};
  const auto cut_off = adopt_parcel(spec, adapter,
                                    {.adapter = name,
                                     .state = std::move(*state),
                                     .descriptors = std::move(copies),
                                     .may_be_blamed = false,
                                     .cut_off = true});
  if (!cut_off) changes_.error("{}: {}", to_string(name), cut_off.error().message);
  return {};
}

model::ApiResult<void> Host::adopt_parcel(const model::VmSpec& spec,
                                          const model::AdapterSpec& adapter,
                                          worker::PortParcel inherited) {
  const model::AdapterName name = inherited.adapter;
  // Shared, since a message that is called off is destroyed by the worker.
  auto parcel = std::make_shared<worker::PortParcel>(std::move(inherited));
  const auto adopted = worker_->ask([this, parcel, port = port_config(spec, adapter)] {
    return ports_->adopt(port, std::move(*parcel));
  });
  if (!adopted) return worker_is_busy();
  if (!*adopted) return model::refuse(model::ApiErrorCode::kInternal, adopted->error().message);
  ++makings_[name];
  adopted_.insert(name);
  return {};
}

// What was kept of an engine that was killed is too old: its manager may have changed all since.
std::vector<std::byte> Host::inherited_subnet() {
  if (!inheritance_->subnet || inheritance_->is_kept) return {};
  const privsep::Parcel& parcel = *inheritance_->subnet;
  if (parcel.bytes() > subnet_host::kMostSubnetParcelBytes) {
    changes_.error(
        "the InfiniBand subnet begins anew: its state has {} bytes, and at most {} are read",
        parcel.bytes(), subnet_host::kMostSubnetParcelBytes);
    return {};
  }
  auto state = parcel.read();
  if (state) return std::move(*state);
  changes_.error("the InfiniBand subnet begins anew: {}", state.error().message);
  return {};
}

void Host::keep_all() {
  keep_locks();
  worker_->post([this] { ports_->keep_all(); });
}

void Host::begin() {
  if (config_.kept != nullptr) keep_all();
  worker_->post([ports = ports_.get()] {
    ports->begin();
    ports->await_others(kAwaitOthers);
  });
  worker_->begin_turns();
  store_->allow_changes();
  for (auto& [name, vm] : vms_) bring_back(vm);
  infiniband_->begin(/*follows=*/true, inherited_subnet());
  storage_->apply();
  adopted_.clear();
  inheritance_.reset();
  tell_cluster();
  tell_left_out();
  if (config_.cluster == nullptr) network_->apply();
}

}  // namespace paravane::host
