// Host: how it comes to life and goes, and how it makes ports on the worker.

#include <fmt/core.h>

#include <random>
#include <utility>

#include "base/descriptor_limit.h"
#include "base/log.h"
#include "host/address_seed.h"
#include "host/directory_lock.h"
#include "host/host.h"
#include "host/port_config.h"
#include "host/stale_sockets.h"
#include "settings/name_of_host.h"

namespace paravane::host {

using model::ApiResult;

namespace {

worker::SpinMode spin_mode(settings::Spin spin) {
  switch (spin) {
    case settings::Spin::kAuto: return worker::SpinMode::kAuto;
    case settings::Spin::kAlways: return worker::SpinMode::kAlways;
    case settings::Spin::kNever: return worker::SpinMode::kNever;
  }
  return worker::SpinMode::kAuto;
}

// Of all VMs' adapters. The log says more than the event, which is for programs.
void tell_held(const worker::TurnNews& news, api::EventLog* events) {
  const double seconds = std::chrono::duration<double>(news.lasted).count();
  const std::string text =
      news.is_held
          ? fmt::format("the worker has been stuck for {:.0f} s: RDMA of all VMs is stalled",
                        seconds)
          : fmt::format("the worker is running again, after {:.0f} s", seconds);
  if (news.is_held) {
    log::error(
        "{}. Check whether this host is swapping or overcommitted (dmesg, /proc/pressure). If it "
        "persists, stop the VMs and restart paravaned; VMs that still run lose their adapter",
        text);
  } else {
    log::warn("{}", text);
  }
  if (events == nullptr) return;
  events->add({.type = news.is_held ? "worker.held" : "worker.turns",
               .severity = news.is_held ? model::Severity::kError : model::Severity::kWarning,
               .fields = {{"seconds", fmt::format("{:.0f}", seconds)}},
               .text = text});
}

worker::WorkerConfig worker_config(const settings::Config& config, api::EventLog* events,
                                   std::function<void()> on_lost) {
  return {.spin = spin_mode(config.worker.spin),
          .spin_for = config.worker.spin_for,
          .turn = {.share = config.worker.turn},
          .cpu = config.worker.cpu,
          .stall = {.every = config.debug.stall_every,
                    .longest = config.debug.stall_for,
                    .seed = config.debug.stall_seed},
          .on_held = [events](const worker::TurnNews& news) { tell_held(news, events); },
          .on_lost = std::move(on_lost)};
}

}  // namespace

model::ApiResult<std::unique_ptr<Host>> Host::start(HostConfig config,
                                                    std::function<void()> on_stop) {
  std::unique_ptr<Host> host(new Host(std::move(config), std::move(on_stop)));
  if (auto locked = host->lock_directories(); !locked) return std::unexpected(locked.error());
  remove_stale_sockets(host->config_.config.vfio_user.socket_dir);
  if (auto built = host->build(); !built) return std::unexpected(built.error());
  if (auto restored = host->restore_vms(); !restored) return std::unexpected(restored.error());
  host->tell_left_out();
  // In a cluster this host may have another name, and says so before switches are made.
  if (host->config_.cluster == nullptr) host->network_->apply();
  host->infiniband_->begin(/*follows=*/false);
  host->storage_->apply();
  return host;
}

model::ApiResult<std::unique_ptr<Host>> Host::take_over(HostConfig config, Inheritance inheritance,
                                                        std::function<void()> on_stop) {
  std::unique_ptr<Host> host(new Host(std::move(config), std::move(on_stop)));
  host->inheritance_ = std::move(inheritance);
  if (auto locked = host->inherit_directories(); !locked) return std::unexpected(locked.error());
  if (auto built = host->build(); !built) return std::unexpected(built.error());
  if (auto adopted = host->adopt_vms(); !adopted) return std::unexpected(adopted.error());
  return host;
}

model::ApiResult<void> Host::build() {
  if (auto opened = open_store(); !opened) return opened;
  worker::WorkerConfig settings =
      worker_config(config_.config, config_.events, [this] { on_lost(); });
  settings.waits_for_begin = inheritance_.has_value();
  auto worker = worker::Worker::start(settings);
  if (!worker) return model::refuse(model::ApiErrorCode::kInternal, worker.error().message);
  worker_ = std::move(*worker);
  std::random_device random;
  const std::uint64_t incarnation = (std::uint64_t{random()} << 32) | random() | 1;
  const auto made = worker_->ask([this, incarnation] {
    const auto roce_class = static_cast<std::uint8_t>(config_.config.roce.dscp << 2);
    ports_ = std::make_unique<worker::PortTable>(*worker_, incarnation, port_events(), roce_class);
    if (config_.kept != nullptr) ports_->keep_by(*config_.kept);
    return true;
  });
  if (!made) return model::refuse(model::ApiErrorCode::kInternal, "the worker is not running");
  if (auto opened = open_machine(); !opened) return opened;
  if (auto opened = open_network(); !opened) return opened;
  if (auto opened = open_vmkernel(); !opened) return opened;
  if (auto opened = open_infiniband(); !opened) return opened;
  return open_storage();
}

Host::Host(HostConfig config, std::function<void()> on_stop)
    : config_(std::move(config)),
      on_stop_(std::move(on_stop)),
      started_(std::chrono::steady_clock::now()) {}

// The worker tells the control thread; without a cluster this is not needed.
worker::PortEvents Host::port_events() {
  const auto say = [this](model::Event event) { tell(std::move(event)); };
  const auto roce_lost = [this](const model::AdapterName& adapter) {
    if (config_.post) config_.post([this, adapter] { on_roce_lost(adapter); });
  };
  if (config_.cluster == nullptr) return {.tell = say, .roce_lost = roce_lost};
  return {.gids_changed =
              [this](std::vector<worker::SharedGid> gids) {
                config_.post([this, gids = std::move(gids)] {
                  if (channels_ != nullptr) channels_->on_gids(gids);
                });
              },
          .channel_lost =
              [this](const transport_channel::LostChannel& lost) {
                config_.post([this, lost] {
                  if (channels_ != nullptr) channels_->on_channel_lost(lost);
                });
              },
          .trunk =
              [this](const worker::TrunkNews& news) {
                config_.post([this, news] {
                  if (channels_ != nullptr) channels_->on_trunk(news);
                });
              },
          .tell = say,
          .roce_lost = roce_lost};
}

// The worker's thread.
void Host::on_lost() {
  unsettle();
  if (config_.post) config_.post([] {});  // so that the control thread settles it
}

Host::~Host() {
  if (!worker_) return;
  // Ports go on the thread that made them. Waits as long as it takes: nothing of
  // the worker may be pulled away from under it.
  worker_->post([this] {
    if (storage_) storage_->end();
    ports_.reset();
  });
  worker_.reset();
}

std::vector<std::pair<std::filesystem::path, std::string>> Host::own_directories() const {
  const settings::Config& config = config_.config;
  return {{config.state_dir, "state.directory"},
          {config.vfio_user.socket_dir, "vfio_user.socket_directory"}};
}

model::ApiResult<void> Host::lock_directories() {
  for (const auto& [directory, setting] : own_directories()) {
    auto lock = DirectoryLock::take(directory, setting);
    if (!lock) return std::unexpected(lock.error());
    locks_.emplace_back(lock_parcel(setting), std::move(*lock));
  }
  keep_locks();
  return {};
}

void Host::keep_locks() const {
  if (config_.kept == nullptr) return;
  for (const auto& [name, lock] : locks_) config_.kept->keep_file(name, lock.fd());
}

model::ApiResult<void> Host::open_store() {
  const auto use = inheritance_ ? store::StoreUse::kTakeOver : store::StoreUse::kServe;
  auto store = store::Store::open(config_.config.state_dir / "paravane.db", use);
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  for (const char* kind :
       {kAddressSeedKind, kNicNumberKind, kRdmaNumberKind, subnet_host::kUplinkNumberKind}) {
    if (auto chosen = choose_anew(kind); !chosen) return chosen;
  }
  auto seed = address_seed(*store_);
  if (!seed) return std::unexpected(seed.error());
  address_seed_ = std::move(*seed);
  return {};
}

model::ApiResult<void> Host::open_network() {
  network_ = std::make_unique<HostNetwork>(
      HostNetworkConfig{
          .host = settings::host_name(config_.config.host.name),
          .uplinks = config_.config.network.uplinks,
          .maker = config_.switches,
          .rules = uplink_rules_.get(),
          .members = [this] { return members(); },
          .vmknics =
              [this] { return vmkernel_ ? vmkernel_->vmknics() : std::vector<model::Vmknic>(); },
          .ipoib_uplinks = [this] { return ipoib_uplinks(); },
          .applied =
              [this] {
                if (vmkernel_) vmkernel_->on_applied();
              },
          .roce_changed = [this] { tell_roce_closed(); },
          .roce_ports_gone =
              [this](const std::vector<model::AdapterName>& adapters) { close_roce(adapters); },
          .uplink_gone = [this](const std::string& uplink,
                                std::optional<std::uint32_t> vlan) { close_uplink(uplink, vlan); },
          .changed =
              [this](const model::Network& network) {
                tell_network(network);
                tell_network_rules(network);
                if (storage_) storage_->apply();
                if (config_.cluster == nullptr) return;
                config_.cluster->set_network(network_->host(), network);
              },
          .tell = [this](model::Event event) { tell(std::move(event)); }},
      *store_, [this] { return port_uses(); });
  auto loaded = network_->load();
  if (loaded) network_watch_.begin(network_->network());
  return loaded;
}

model::ApiResult<void> Host::open_vmkernel() {
  vmkernel_ = std::make_unique<HostVmkernel>(
      HostVmkernelConfig{
          .management_address = config_.config.cluster.address,
          .is_free = [this](const model::MacAddress& mac) { return !mac_taken(mac); },
          .site_changed =
              [this](const ChannelSite& site) {
                if (channels_ != nullptr) channels_->set_site(site);
              },
          .channel =
              [this] {
                return channels_ != nullptr
                           ? channels_->place()
                           : model::ChannelPlace{
                                 .closed = {.why = "this host is not in a cluster"}};
              },
          .hca_memory =
              [this] {
                return channels_ != nullptr ? channels_->hca_memory() : model::HcaMemory();
              },
          .setting_changed = [this] { tell_rules(); },
          .tell = [this](model::Event event) { tell(std::move(event)); }},
      *store_, *network_);
  auto loaded = vmkernel_->load();
  if (loaded) tell_rules();
  return loaded;
}

void Host::tell_rules() {
  const device::DeviceRules rules{.datagram_queue_pairs = static_cast<std::uint32_t>(
                                      vmkernel_->number(model::kPvrdmaMaxUdQueuePairs)),
                                  .atomics = vmkernel_->number(model::kPvrdmaAtomics) != 0};
  worker_->post([this, rules] { ports_->set_rules(rules); });
}

model::ApiResult<void> Host::restore_vms() {
  const auto specs = store_->vms();
  if (!specs) return std::unexpected(specs.error());
  for (const model::VmSpec& spec : *specs) {
    bring_back(vms_.emplace(spec.name, Vm{.spec = spec, .problems = {}}).first->second);
  }
  tell_cluster();
  return {};
}

void Host::bring_back(Vm& vm) {
  vm.problems.clear();
  for (const model::AdapterSpec& adapter : vm.spec.adapters) {
    if (adopted_.contains({vm.spec.name, adapter.number})) continue;
    const auto made = make_port(vm.spec, adapter);
    if (made) continue;
    if (made.error().code == model::ApiErrorCode::kBusy) {
      put_back_port(vm.spec, adapter);
      continue;
    }
    vm.problems[adapter.number] = made.error().message;
    const model::AdapterName name{vm.spec.name, adapter.number};
    tell_failed(name, made.error().message);
    changes_.error("{}: {}", to_string(name), made.error().message);
  }
}

model::ApiResult<void> Host::make_ports(const model::VmSpec& spec) {
  std::vector<model::AdapterName> done;
  for (const model::AdapterSpec& adapter : spec.adapters) {
    if (auto made = make_port(spec, adapter); !made) {
      take_back_ports(std::move(done));
      return made;
    }
    done.push_back({spec.name, adapter.number});
  }
  return {};
}

worker::VmPortConfig Host::port_config(const model::VmSpec& spec,
                                       const model::AdapterSpec& adapter) const {
  worker::VmPortConfig config = make_port_config(spec, adapter, config_);
  config.segment = network_->segment_of(spec.name, adapter);
  return config;
}

model::ApiResult<void> Host::make_port(const model::VmSpec& spec,
                                       const model::AdapterSpec& adapter) {
  const auto made =
      worker_->ask([this, port = port_config(spec, adapter)] { return ports_->add(port); });
  if (!made) {
    return model::refuse(model::ApiErrorCode::kBusy, "the worker did not respond in time",
                         "Ask again.");
  }
  if (*made) {
    ++makings_[{spec.name, adapter.number}];
    return {};
  }
  const Error& error = made->error();
  std::string message = fmt::format("vm {}: {}", spec.name, error.message);
  if (error.code == Errc::kInvalidArgument) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest, std::move(message),
                         "Choose other limits.");
  }
  if (error.code == Errc::kResourceExhausted) {
    return model::refuse(model::ApiErrorCode::kLimitReached, std::move(message),
                         "Remove an adapter first.");
  }
  if (is_out_of_descriptors(error)) {
    return model::refuse(model::ApiErrorCode::kSocket, std::move(message),
                         std::string(kRaiseDescriptorLimit));
  }
  return model::refuse(model::ApiErrorCode::kSocket, std::move(message),
                       fmt::format("Check that {} is a writable directory with free space, and "
                                   "that no other process uses the socket.",
                                   config_.config.vfio_user.socket_dir.string()));
}

void Host::take_back_ports(std::vector<model::AdapterName> names) {
  worker_->post([this, ports = std::move(names)] { ports_->remove(ports, true); });
}

void Host::put_back_port(const model::VmSpec& spec, const model::AdapterSpec& adapter) {
  ++makings_[{spec.name, adapter.number}];
  worker_->post([this, port = port_config(spec, adapter)] {
    const Status made = ports_->add(port);
    if (made) return;
    log::error("{}: {}", to_string(port.adapter), made.error().message);
    tell_failed(port.adapter, made.error().message);
  });
}

model::ApiResult<bool> Host::remove_ports(std::vector<model::AdapterName> names, bool force) {
  const auto removed = worker_->ask(
      [this, ports = std::move(names), force] { return ports_->remove(ports, force); });
  if (!removed) {
    return model::refuse(model::ApiErrorCode::kBusy, "the worker did not respond in time",
                         "Ask again.");
  }
  return *removed;
}

model::ApiResult<void> Host::open_infiniband() {
  const settings::InfinibandConfig& wanted = config_.config.infiniband;
  infiniband_ = std::make_unique<subnet_host::HostInfiniband>(
      subnet_host::HostInfinibandConfig{
          .host = network_->host(),
          .address_seed = address_seed_,
          .umad_socket = wanted.umad_socket,
          .umad_access = {.mode = wanted.mode, .group = config_.umad_group},
          .tell = [this](model::Event event) { tell(std::move(event)); },
          .post = config_.post,
          .nic_numbers = machine_->nic_numbers(),
          .uplinks_changed = [this] { network_->apply(); },
          .uplink_lost = [this](const std::string& uplink) { on_uplink_lost(uplink); },
          .ports_changed =
              [this] {
                if (storage_) storage_->apply();
              },
          .use_of = [this](const std::string& uplink) { return use_of_uplink(uplink); }},
      *store_);
  return infiniband_->load();
}

model::ApiResult<void> Host::open_storage() {
  storage_ = std::make_unique<HostStorage>(
      HostStorageConfig{
          .sockets = {.directory = config_.config.vfio_user.socket_dir,
                      .access = {.mode = config_.config.vfio_user.mode,
                                 .group = config_.vm_socket_group}},
          .vmhbas = [this] { return infiniband_->srp_vmhbas(); },
          .segment_of = [this](const std::string& port_group, const model::AdapterName& adapter)
              -> std::optional<verbs::SegmentId> {
            if (!network_->find_port_group(port_group)) return std::nullopt;
            return worker::segment_of(network_->network(), port_group, adapter);
          },
          .luns_of_vms =
              [this] {
                std::map<std::string, std::string> luns;
                for (const auto& [name, vm] : vms_) {
                  for (const model::Disk& disk : vm.spec.machine.disks) {
                    if (disk.is_lun()) luns.emplace(disk.lun, name);
                  }
                }
                return luns;
              },
          .tell = [this](model::Event event) { tell(std::move(event)); },
          .changed =
              [this] {
                tell_cluster();
                if (network_->is_made()) network_->apply();
              },
          .moved =
              [this](const std::vector<model::AdapterName>& adapters) {
                close_roce(adapters);
                for (const model::AdapterName& adapter : adapters) forget_roce(adapter);
              },
          .check_ipv4 =
              [this](const std::string& port_group) { return check_vmhba_ipv4(port_group); },
          .why_no_roce =
              [this](const model::AdapterName& adapter, const inventory::AdapterInfo& info) {
                const model::RoceStatus status = roce_status({.adapter = adapter,
                                                              .port_group = info.port_group,
                                                              .mac = info.mac,
                                                              .making = makings_of(adapter)});
                if (status.open) return std::string();
                return status.closed.empty() ? "its RoCE port is being opened" : status.closed;
              }},
      *store_, *worker_, *ports_);
  return storage_->load();
}

}  // namespace paravane::host
