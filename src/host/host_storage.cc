#include "host/host_storage.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/storage_json.h"
#include "host/refusals.h"
#include "json/json_reader.h"
#include "model/impairment.h"
#include "wire/infiniband/communication.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using model::ApiResult;

constexpr std::string_view kVmhbaPrefix = "vmhba";

std::string identity_of(const subnet_host::SrpVmhba& vmhba) {
  return fmt::format("{}/{}/{}", vmhba.adapter, vmhba.port, vmhba.index);
}

// A GID may be written in several ways; the worker tells of one.
model::SrpTarget canonical(model::SrpTarget target) {
  target.address = model::canonical_peer(target.address);
  return target;
}

// Whether no path of the device works once those of the target are gone.
bool needs_target(const model::ScsiDevice& device, const std::string& vmhba, std::uint32_t target) {
  const auto is_of_target = [&](const model::LunPath& path) {
    return path.vmhba == vmhba && path.target == target;
  };
  return std::ranges::any_of(device.paths, is_of_target) &&
         std::ranges::none_of(device.paths, [&](const model::LunPath& path) {
           return !is_of_target(path) && path.state != model::PathState::kDead;
         });
}

}  // namespace

HostStorage::HostStorage(HostStorageConfig config, store::Store& store, worker::Worker& worker,
                         worker::PortTable& ports)
    : config_(std::move(config)),
      store_(store),
      worker_(worker),
      ports_(ports),
      numbers_(kVmhbaPrefix, {}) {}

HostStorage::~HostStorage() = default;

// ---- The store ----

ApiResult<void> HostStorage::load() {
  if (auto loaded = load_settings(); !loaded) return loaded;
  if (auto loaded = load_numbers(); !loaded) return loaded;
  const auto made = worker_.ask([this] {
    storage_ = std::make_unique<storage::Storage>(
        worker_, ports_, storage::StorageConfig{.sockets = config_.sockets, .tell = config_.tell});
    return true;
  });
  if (!made) return worker_is_busy();
  return {};
}

ApiResult<void> HostStorage::load_settings() {
  const auto settings = store_.documents(api::kVmhbaKind);
  if (!settings) return std::unexpected(settings.error());
  for (const auto& [name, value] : *settings) {
    const auto setting = api::kept_vmhba_setting_from_json(value);
    if (setting) {
      settings_[name] = *setting;
    } else {
      store_.leave_out(api::kVmhbaKind, name, setting.error().message);
    }
  }
  const auto targets = store_.documents(api::kSrpTargetKind);
  if (!targets) return std::unexpected(targets.error());
  for (const auto& [name, value] : *targets) {
    const auto target = api::kept_srp_target_from_json(value);
    if (target) {
      named_[name] = canonical(*target);
    } else {
      store_.leave_out(api::kSrpTargetKind, name, target.error().message);
    }
  }
  return {};
}

ApiResult<void> HostStorage::load_numbers() {
  const auto documents = store_.documents(api::kVmhbaNumberKind);
  if (!documents) return std::unexpected(documents.error());
  std::map<std::string, std::string> known;
  for (const auto& [name, value] : *documents) {
    JsonReader reader(value, name);
    std::string identity = reader.need_text("identity");
    if (const Status good = reader.finish_ignoring_unknown(); good) {
      known[name] = std::move(identity);
    } else {
      log_.warn(std::chrono::steady_clock::now(), "{}: its number is lost: {}", name,
                good.error().message);
    }
  }
  numbers_ = store::DeviceNumbers(kVmhbaPrefix, known,
                                  {.first = model::kFirstVmhba, .count = model::kMaxVmhbas});
  return {};
}

// What an operator has set is another port's, whose number this one has now.
void HostStorage::forget_settings(const std::string& name) {
  bool had = settings_.erase(name) != 0;
  if (had) forget_document(api::kVmhbaKind, name);
  for (auto named = named_.begin(); named != named_.end();) {
    if (named->second.vmhba != name) {
      ++named;
      continue;
    }
    had = true;
    forget_document(api::kSrpTargetKind, named->first);
    named = named_.erase(named);
  }
  if (!had) return;
  log_.warn(
      std::chrono::steady_clock::now(),
      "{}: another InfiniBand port has its number now: its port group, its address and the "
      "targets that were named for it are forgotten. See: paravane infiniband vmhba set --help",
      name);
}

void HostStorage::forget_document(const std::string& kind, const std::string& name) {
  const auto erased = store_.erase_document(kind, name);
  if (erased) return;
  log_.warn(std::chrono::steady_clock::now(), "{}: cannot forget what was set: {}", name,
            erased.error().message);
}

// A disk that is full is no reason to have no vmhbas.
void HostStorage::keep_numbers() {
  for (const std::string& name : numbers_.take_reassigned()) forget_settings(name);
  for (const auto& [name, identity] : numbers_.take_changes()) {
    const auto kept = store_.put_document(api::kVmhbaNumberKind, name, {{"identity", identity}});
    if (kept) continue;
    numbers_.keep_again(name, identity);
    log_.warn(std::chrono::steady_clock::now(), "{}: cannot save its number: {}", name,
              kept.error().message);
  }
}

// ---- What there is to be ----

void HostStorage::number(const subnet_host::SrpVmhbas& made) {
  known_.clear();
  most_targets_ = made.most_targets;
  std::vector<std::string> identities;
  for (const subnet_host::SrpVmhba& vmhba : made.all) identities.push_back(identity_of(vmhba));
  const std::vector<std::string> names = numbers_.name(identities);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;  // there are kMaxVmhbas
    Known known{.made = made.all[i]};
    const std::string_view digits = std::string_view(names[i]).substr(kVmhbaPrefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), known.number);
    known_.emplace(names[i], std::move(known));
  }
  keep_numbers();
}

std::vector<storage::VmhbaOrder> HostStorage::orders() {
  std::vector<storage::VmhbaOrder> orders;
  for (auto& [name, known] : known_) {
    storage::VmhbaOrder order{.name = name,
                              .number = known.number,
                              .port_guid = known.made.port_guid,
                              .index = known.made.index,
                              .is_up = known.made.is_up,
                              .most_targets = most_targets_};
    known.problem = known.made.problem;
    if (const auto setting = settings_.find(name);
        setting != settings_.end() && !setting->second.port_group.empty()) {
      const auto segment =
          config_.segment_of(setting->second.port_group, {.vm = name, .number = 0});
      if (!segment) {
        known.problem = fmt::format(
            "there is no port group {}: choose another with: paravane infiniband vmhba set {} "
            "--port-group GROUP",
            setting->second.port_group, name);
        continue;
      }
      order.segment = *segment;
      order.ipv4 = parse_ipv4_interface(setting->second.ipv4);
      order.gateway = parse_ipv4(setting->second.gateway);
    }
    for (const auto& [document, target] : named_) {
      if (target.vmhba != name) continue;
      if (const auto gid = model::parse_gid(target.address)) {
        storage::TargetAddress named{
            .gid = verbs::Gid{*gid}, .id_ext = target.id_ext, .ioc_guid = target.ioc_guid};
        named.is_by_rdma = target.port.has_value();
        named.service = target.port ? wire::infiniband::kTcpPortService | *target.port
                                    : target.service.value_or(0);
        order.named.push_back(named);
      }
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

void HostStorage::apply() {
  const auto made = config_.vmhbas();
  if (!made) return;  // the next change tells of it
  number(*made);
  const auto before = std::exchange(told_, in_port_groups());
  // A vmhba in another network says nothing through the port that it had.
  std::vector<model::AdapterName> moved;
  for (const auto& [name, info] : before) {
    const auto now = told_.find(name);
    if (now == told_.end() || now->second != info) moved.push_back(name);
  }
  if (!moved.empty() && config_.moved) config_.moved(moved);
  worker_.post([this, orders = orders()] {
    if (storage_) storage_->apply(orders);
  });
  if (told_ != before && config_.changed) config_.changed();
}

std::map<model::AdapterName, inventory::AdapterInfo> HostStorage::in_port_groups() const {
  std::map<model::AdapterName, inventory::AdapterInfo> adapters;
  for (const auto& [name, known] : known_) {
    const auto setting = settings_.find(name);
    if (setting == settings_.end() || setting->second.port_group.empty()) continue;
    adapters[{.vm = name, .number = 0}] = {
        .mac = storage::vmhba_mac(known.made.port_guid, known.made.index),
        .port_group = setting->second.port_group};
  }
  return adapters;
}

// ---- StorageManagement ----

ApiResult<storage::StorageReport> HostStorage::report(Detail detail) {
  const bool of_devices = detail == Detail::kDevices;
  auto report = worker_.ask([this, of_devices] { return storage_->report(of_devices); });
  if (!report) return worker_is_busy();
  const std::map<std::string, std::string> used = config_.luns_of_vms();
  for (model::ScsiDevice& device : report->devices) {
    if (const auto vm = used.find(device.name); vm != used.end()) device.vm = vm->second;
  }
  return std::move(*report);
}

std::unexpected<model::ApiError> HostStorage::no_such_vmhba(const std::string& name) const {
  return model::refuse(ApiErrorCode::kNotFound, fmt::format("there is no vmhba {}", name),
                       known_.empty()
                           ? "Add an InfiniBand adapter with: paravane infiniband adapter add"
                           : "See: paravane infiniband vmhba list");
}

ApiResult<std::vector<model::Vmhba>> HostStorage::list_vmhbas() {
  if (const auto made = config_.vmhbas()) number(*made);
  auto reported = report(Detail::kTargets);
  if (!reported) return std::unexpected(reported.error());
  (void)orders();  // finds what is wrong with settings
  std::vector<model::Vmhba> list;
  for (const auto& [name, known] : known_) {
    model::Vmhba vmhba{.name = name,
                       .adapter = known.made.adapter,
                       .device = known.made.device,
                       .description = known.made.description,
                       .port = known.made.port,
                       .port_guid = known.made.port_guid,
                       .is_up = known.made.is_up,
                       .problem = known.problem};
    if (const auto setting = settings_.find(name); setting != settings_.end()) {
      vmhba.setting = setting->second;
    }
    const auto of =
        std::ranges::find(reported->vmhbas, name, &storage::StorageReport::OfVmhba::name);
    if (of != reported->vmhbas.end()) {
      vmhba.initiator = of->initiator;
      vmhba.counters = of->counters;
      if (vmhba.problem.empty()) vmhba.problem = of->problem;
    }
    if (vmhba.problem.empty()) vmhba.problem = ethernet_problem(name);
    vmhba.targets = static_cast<std::uint32_t>(
        std::ranges::count_if(reported->targets, [&](const model::SrpTargetStatus& target) {
          return target.target.vmhba == name && target.state == model::TargetState::kLoggedIn;
        }));
    list.push_back(std::move(vmhba));
  }
  return list;
}

ApiResult<model::Vmhba> HostStorage::set_vmhba(const std::string& name,
                                               const model::VmhbaSetting& setting) {
  if (!has(name)) return no_such_vmhba(name);
  if (!setting.port_group.empty() &&
      !config_.segment_of(setting.port_group, {.vm = name, .number = 0})) {
    return model::refuse(ApiErrorCode::kNotFound,
                         fmt::format("there is no port group {}", setting.port_group),
                         "See: paravane portgroup list");
  }
  if (auto good = check_ipv4(name, setting); !good) return std::unexpected(good.error());
  auto kept = store_.put_document(api::kVmhbaKind, name, api::to_json(setting));
  if (!kept) return std::unexpected(kept.error());
  settings_[name] = setting;
  apply();
  auto list = list_vmhbas();
  if (!list) return std::unexpected(list.error());
  const auto found = std::ranges::find(*list, name, &model::Vmhba::name);
  if (found == list->end()) return no_such_vmhba(name);
  return *found;
}

ApiResult<void> HostStorage::check_ipv4(const std::string& name,
                                        const model::VmhbaSetting& setting) const {
  if (setting.ipv4.empty()) return {};
  if (auto good = config_.check_ipv4(setting.port_group); !good) return good;
  const auto address = [](const model::VmhbaSetting& of) {
    return parse_ipv4_interface(of.ipv4).value_or(Ipv4Interface{}).address;
  };
  for (const auto& [other, known] : settings_) {
    if (other == name || known.port_group != setting.port_group || known.ipv4.empty()) continue;
    if (address(known) != address(setting)) continue;
    return model::refuse(ApiErrorCode::kExists,
                         fmt::format("{} has the address {} already", other, known.ipv4),
                         "Choose another address.");
  }
  return {};
}

std::string HostStorage::ethernet_problem(const std::string& name) const {
  const model::AdapterName adapter{.vm = name, .number = 0};
  const auto info = told_.find(adapter);
  const auto setting = settings_.find(name);
  // What was set may have been forgotten since it was told.
  if (info == told_.end() || setting == settings_.end()) return {};
  // Without an address, RoCE may be off.
  const bool is_wanted =
      !setting->second.ipv4.empty() || config_.check_ipv4(info->second.port_group);
  const std::string why = is_wanted ? config_.why_no_roce(adapter, info->second) : std::string();
  return why.empty() ? why : fmt::format("targets on an Ethernet are not reached: {}", why);
}

ApiResult<void> HostStorage::rescan(const std::optional<std::string>& vmhba) {
  if (vmhba && !has(*vmhba)) return no_such_vmhba(*vmhba);
  const auto begun = worker_.ask([this, vmhba] { return storage_->rescan(vmhba); });
  if (!begun) return worker_is_busy();
  return {};
}

ApiResult<bool> HostStorage::is_scanning(const std::optional<std::string>& vmhba) {
  const auto known = worker_.ask([this, vmhba] { return storage_->is_scanning(vmhba); });
  if (!known) return worker_is_busy();
  return *known;
}

ApiResult<std::vector<model::SrpTargetStatus>> HostStorage::list_srp_targets() {
  auto reported = report(Detail::kTargets);
  if (!reported) return std::unexpected(reported.error());
  return std::move(reported->targets);
}

ApiResult<void> HostStorage::add_srp_target(const model::SrpTarget& asked) {
  const model::SrpTarget target = canonical(asked);
  if (!has(target.vmhba)) return no_such_vmhba(target.vmhba);
  std::size_t count = 0;
  std::uint32_t number = 0;
  for (const auto& [document, named] : named_) {
    if (named == target) {
      return model::refuse(ApiErrorCode::kExists,
                           fmt::format("{} is named already", model::describe(target)));
    }
    if (named.vmhba == target.vmhba) ++count;
  }
  if (count >= most_targets_) {
    return model::refuse(
        ApiErrorCode::kLimitReached,
        fmt::format("the limit of {} targets of {} is reached", most_targets_, target.vmhba),
        "Remove a target first, or raise max_srp_targets of module ib_srp.");
  }
  if (!model::parse_gid(target.address)) {
    return model::refuse(ApiErrorCode::kInvalidRequest, fmt::format("{} is no GID", target.address),
                         "Name the target by its GID, such as fe80::5054:ff:fe77:1.");
  }
  std::string document;
  do {
    document = api::srp_target_document(target.vmhba, number++);
  } while (named_.contains(document));
  auto kept = store_.put_document(api::kSrpTargetKind, document, api::to_json(target));
  if (!kept) return std::unexpected(kept.error());
  named_[document] = target;
  apply();
  return {};
}

ApiResult<void> HostStorage::remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                               bool force) {
  if (!has(vmhba)) return no_such_vmhba(vmhba);
  auto reported = report(Detail::kDevices);
  if (!reported) return std::unexpected(reported.error());
  const auto found =
      std::ranges::find_if(reported->targets, [&](const model::SrpTargetStatus& status) {
        return status.target.vmhba == vmhba && status.number == number && status.is_named;
      });
  if (found == reported->targets.end()) {
    return model::refuse(ApiErrorCode::kNotFound,
                         fmt::format("no target {} of {} was named by an operator", number, vmhba),
                         "See: paravane infiniband target list");
  }
  for (const model::ScsiDevice& device : reported->devices) {
    if (device.vm.empty() || force || !needs_target(device, vmhba, number)) continue;
    return model::refuse(
        ApiErrorCode::kInUse,
        fmt::format("{}, a disk of VM {}, has no other path that works", device.name, device.vm),
        "Remove the disk from the VM first, or use --force.");
  }
  const auto document = std::ranges::find_if(
      named_, [&](const auto& entry) { return entry.second == found->target; });
  if (document == named_.end()) return {};
  if (auto erased = store_.erase_document(api::kSrpTargetKind, document->first); !erased) {
    return erased;
  }
  named_.erase(document);
  apply();
  return {};
}

ApiResult<std::vector<model::ScsiDevice>> HostStorage::list_scsi_devices() {
  auto reported = report(Detail::kDevices);
  if (!reported) return std::unexpected(reported.error());
  return std::move(reported->devices);
}

ApiResult<std::vector<model::LunPath>> HostStorage::list_lun_paths() {
  auto reported = report(Detail::kDevices);
  if (!reported) return std::unexpected(reported.error());
  std::vector<model::LunPath> paths = std::move(reported->refused);
  for (const model::ScsiDevice& device : reported->devices) {
    paths.insert(paths.end(), device.paths.begin(), device.paths.end());
  }
  const auto place = [](const model::LunPath& path) {
    return std::tuple(path.vmhba, path.target, path.lun);
  };
  std::ranges::sort(paths, {}, place);
  return paths;
}

}  // namespace paravane::host
