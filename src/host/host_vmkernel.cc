#include "host/host_vmkernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "api/vmkernel_json.h"
#include "base/nearest_name.h"
#include "host/refusals.h"

namespace paravane::host {

using model::ApiResult;
using model::Vmknic;
using model::VmknicStatus;

namespace {

constexpr const char* kVmknicKind = "vmknic";  // of documents in the store
constexpr const char* kSettingKind = "setting";
constexpr const char* kRulesetKind = "ruleset";
// As operators call them (LeftOut::kind).
constexpr std::string_view kVmknicWord = "VMkernel interface";
constexpr std::string_view kRulesetWord = "firewall ruleset";

constexpr const char* kListVmknics =
    "List the VMkernel interfaces with: paravane network ip interface list";

}  // namespace

HostVmkernel::HostVmkernel(HostVmkernelConfig config, store::Store& store, HostNetwork& network)
    : config_(std::move(config)), store_(store), network_(network) {}

model::ApiResult<void> HostVmkernel::load() {
  if (auto loaded = load_vmknics(); !loaded) return loaded;
  if (auto loaded = load_settings(); !loaded) return loaded;
  told_ = site();
  return {};
}

model::ApiResult<void> HostVmkernel::load_vmknics() {
  const auto kept = store_.documents(kVmknicKind);
  if (!kept) return std::unexpected(kept.error());
  for (const auto& [name, value] : *kept) {
    const auto vmknic = api::kept_vmknic_from_json(value);
    if (vmknic && vmknic->name == name) {
      vmknics_[name] = *vmknic;
    } else {
      store_.leave_out(kVmknicKind, name,
                       vmknic ? "its name is " + vmknic->name : vmknic.error().message);
    }
  }
  return {};
}

model::ApiResult<void> HostVmkernel::load_settings() {
  const auto settings = store_.documents(kSettingKind);
  if (!settings) return std::unexpected(settings.error());
  for (const auto& [path, value] : *settings) {
    const auto setting = api::kept_setting_from_json(value);
    if (setting) {
      settings_[path] = setting->value;
    } else {
      store_.leave_out(kSettingKind, path, setting.error().message);
    }
  }
  const auto rulesets = store_.documents(kRulesetKind);
  if (!rulesets) return std::unexpected(rulesets.error());
  for (const auto& [name, value] : *rulesets) {
    const auto ruleset = api::kept_ruleset_from_json(value);
    if (!ruleset) {
      store_.leave_out(kRulesetKind, name, ruleset.error().message);
    } else if (name == model::kPvrdmaRuleset) {
      pvrdma_enabled_ = ruleset->enabled;
    }
  }
  return {};
}

std::vector<model::Vmknic> HostVmkernel::vmknics() const {
  std::vector<model::Vmknic> list;
  list.reserve(vmknics_.size());
  for (const auto& [name, vmknic] : vmknics_) list.push_back(vmknic);
  return list;
}

std::string HostVmkernel::tagged() const {
  return model::setting_value(settings_, *model::find_setting(model::kPvrdmaVmknic));
}

ChannelNic HostVmkernel::channel_nic() const {
  const std::string name = tagged();
  if (name == model::kManagementVmknic) {
    return {.linux_name = management().interface, .address = site().address};
  }
  const auto vmknic = vmknics_.find(name);
  if (vmknic == vmknics_.end()) return {};
  const std::string vds = status_of(vmknic->second).vds;
  ChannelNic nic{.vds = vds, .address = site().address};
  const auto& switches = network_.network().switches;
  const auto known = switches.find(vds);
  if (known == switches.end()) return nic;
  const auto self = known->second.hosts.find(network_.host());
  if (self != known->second.hosts.end()) nic.linux_name = self->second;
  return nic;
}

std::vector<model::VmknicStatus> HostVmkernel::vmknic_statuses() const {
  std::vector<model::VmknicStatus> list;
  if (!config_.management_address.empty()) list.push_back(management());
  for (const auto& [name, vmknic] : vmknics_) list.push_back(status_of(vmknic));
  return list;
}

ChannelSite HostVmkernel::site() const {
  const auto closed = [this](std::string why, model::ClosedBy by = model::ClosedBy::kOther) {
    return ChannelSite{
        .closed = {.why = std::move(why),
                   .remedy = model::reopen(by, model::usable_vmknic(vmknic_statuses())),
                   .by = by}};
  };
  if (!pvrdma_enabled_) {
    return closed("the firewall ruleset pvrdma is disabled", model::ClosedBy::kRuleset);
  }
  const std::string name = tagged();
  if (name.empty()) {
    return closed("/Net/PVRDMAVmknic names no VMkernel interface", model::ClosedBy::kTag);
  }
  if (name == model::kManagementVmknic) {
    if (!config_.management_address.empty()) {
      return {.address = config_.management_address, .vmknic = name};
    }
    return closed(
        "vmk0, set in /Net/PVRDMAVmknic, has no address: [cluster] address in paravaned.toml is "
        "not set");
  }
  const auto vmknic = vmknics_.find(name);
  if (vmknic == vmknics_.end()) {
    return closed(fmt::format("{}, set in /Net/PVRDMAVmknic, does not exist", name));
  }
  if (const auto status = status_of(vmknic->second); !status.problem.empty()) {
    return closed(fmt::format("{}: {}", name, status.problem));
  }
  if (!vmknic->second.ipv4) {
    return {.closed = {.why = name + " has no IPv4 address",
                       .remedy = fmt::format("paravane network ip interface ipv4 set -i {} -t "
                                             "static -I ADDRESS -N NETMASK",
                                             name)}};
  }
  return {.address = format_ipv4(vmknic->second.ipv4->address), .vmknic = name};
}

void HostVmkernel::on_applied() {
  ChannelSite now = site();
  if (now == told_) return;
  told_ = std::move(now);
  if (config_.site_changed) config_.site_changed(told_);
}

model::ApiResult<model::VmkernelConfiguration> HostVmkernel::vmkernel_configuration() {
  model::VmkernelConfiguration all;
  all.vmknics = vmknic_statuses();
  for (const model::AdvancedSetting& setting : model::advanced_settings()) {
    all.settings.push_back(
        {.path = std::string(setting.path), .value = model::setting_value(settings_, setting)});
  }
  all.rulesets.push_back({.name = std::string(model::kPvrdmaRuleset), .enabled = pvrdma_enabled_});
  all.channel.closed = told_.closed;
  if (told_.closed.why.empty()) {
    all.channel = config_.channel
                      ? config_.channel()
                      : model::ChannelPlace{.closed = {.why = "this host is not in a cluster"}};
  }
  if (config_.hca_memory) all.hca = config_.hca_memory();
  return all;
}

model::VmknicStatus HostVmkernel::status_of(const model::Vmknic& vmknic) const {
  model::VmknicStatus status = network_.status_of(vmknic);
  status.tagged = tagged() == vmknic.name;
  return status;
}

model::VmknicStatus HostVmkernel::management() const {
  model::VmknicStatus status{.spec = {.name = std::string(model::kManagementVmknic),
                                      .port_group = std::string(model::kManagementPortGroup)}};
  status.tagged = tagged() == model::kManagementVmknic;
  if (const auto found = network_.management()) {
    status.spec.mac = found->mac;
    status.spec.ipv4 = found->ipv4;
    status.interface = found->interface;
    status.mtu = found->mtu;
  } else {
    status.problem = fmt::format("no interface on this host has [cluster] address {}",
                                 config_.management_address);
  }
  return status;
}

std::vector<std::string> HostVmkernel::names() const {
  std::vector<std::string> names;
  if (!config_.management_address.empty()) names.emplace_back(model::kManagementVmknic);
  for (const auto& [name, vmknic] : vmknics_) names.push_back(name);
  return names;
}

model::MacAddress HostVmkernel::choose_mac(const std::string& name) const {
  for (unsigned attempt = 0;; ++attempt) {
    const auto mac = model::mac_for_name(network_.host() + "/" + name, attempt);
    bool taken = !config_.is_free(mac);
    for (const auto& [other, vmknic] : vmknics_) taken = taken || vmknic.mac == mac;
    if (!taken) return mac;
  }
}

model::ApiResult<void> HostVmkernel::check_network(const model::Vmknic& vmknic) const {
  if (!vmknic.ipv4) return {};
  for (const auto& [name, other] : vmknics_) {
    if (name == vmknic.name || !other.ipv4 || !other.ipv4->overlaps(*vmknic.ipv4)) continue;
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("{}: the network of {} is already used by {}, which has {}", vmknic.name,
                    format_ipv4(*vmknic.ipv4), name, format_ipv4(*other.ipv4)),
        "Use a separate network for each VMkernel interface.");
  }
  return {};
}

// Kept, then made.
model::ApiResult<void> HostVmkernel::keep(const model::Vmknic& vmknic) {
  if (auto kept = store_.put_document(kVmknicKind, vmknic.name, api::to_json(vmknic)); !kept) {
    return kept;
  }
  vmknics_[vmknic.name] = vmknic;
  network_.apply();
  return {};
}

model::ApiResult<model::VmknicStatus> HostVmkernel::add_vmknic(const model::Vmknic& vmknic) {
  if (const auto known = store_.find_left_out(kVmknicWord, vmknic.name)) return is_left_out(*known);
  if (vmknics_.contains(vmknic.name)) {
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("{} already exists", vmknic.name), kListVmknics);
  }
  if (vmknics_.size() >= model::kMaxVmknics) {
    return model::refuse(
        model::ApiErrorCode::kLimitReached,
        fmt::format("the limit of {} VMkernel interfaces is reached", model::kMaxVmknics),
        "Remove an interface with: paravane network ip interface remove -i NAME");
  }
  if (auto good = network_.check_vmknic(vmknic); !good) return std::unexpected(good.error());
  if (auto good = check_network(vmknic); !good) return std::unexpected(good.error());
  model::Vmknic made = vmknic;
  if (!made.mac) made.mac = choose_mac(made.name);
  if (auto kept = keep(made); !kept) return std::unexpected(kept.error());
  tell("vmknic.added", {{"vmknic", made.name}},
       fmt::format("{} was added, port group {}", made.name, made.port_group));
  return status_of(made);
}

model::ApiResult<model::VmknicStatus> HostVmkernel::set_vmknic(const std::string& name,
                                                               const model::VmknicChange& change) {
  if (name == model::kManagementVmknic) {
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        "vmk0 is a Linux interface of this host; its address cannot be changed here",
        "Set its address in [cluster] address of paravaned.toml.");
  }
  const auto found = vmknics_.find(name);
  if (found == vmknics_.end()) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("{} does not exist on this host", name),
                         do_you_mean(name, std::views::keys(vmknics_)) + kListVmknics);
  }
  model::Vmknic changed = found->second;
  const bool is_another = changed.ipv4 != change.ipv4;
  changed.ipv4 = change.ipv4;
  if (auto good = check_network(changed); !good) return std::unexpected(good.error());
  if (auto kept = keep(changed); !kept) return std::unexpected(kept.error());
  if (is_another) {
    tell("vmknic.changed", {{"vmknic", name}},
         fmt::format("{} has {}", name,
                     changed.ipv4 ? format_ipv4(*changed.ipv4) : "no IPv4 address"));
  }
  return status_of(changed);
}

model::ApiResult<void> HostVmkernel::remove_vmknic(const std::string& name) {
  if (name == model::kManagementVmknic) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         "vmk0 is a Linux interface of this host and cannot be removed");
  }
  if (const auto known = store_.find_left_out(kVmknicWord, name)) {
    return store_.erase_left_out(*known);
  }
  if (!vmknics_.contains(name)) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("{} does not exist on this host", name),
                         do_you_mean(name, std::views::keys(vmknics_)) + kListVmknics);
  }
  if (tagged() == name) {
    return model::refuse(
        model::ApiErrorCode::kInUse,
        fmt::format("{} is tagged for PVRDMA and carries the channel to other hosts", name),
        "Tag another interface first, or clear the tag: paravane system settings advanced set -o "
        "/Net/PVRDMAVmknic -d");
  }
  if (auto gone = store_.erase_document(kVmknicKind, name); !gone) return gone;
  vmknics_.erase(name);
  network_.apply();
  tell("vmknic.removed", {{"vmknic", name}}, fmt::format("{} was removed", name));
  return {};
}

void HostVmkernel::tell(const char* type, std::map<std::string, std::string> fields,
                        std::string text) const {
  changes_.info("{}", text);
  if (!config_.tell) return;
  config_.tell({.type = type, .fields = std::move(fields), .text = std::move(text)});
}

model::ApiResult<void> HostVmkernel::check_tag(const std::string& vmknic) const {
  const std::vector<std::string> known = names();
  if (vmknic.empty() || std::ranges::find(known, vmknic) != known.end()) return {};
  if (vmknic.find(',') != std::string::npos) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         "only one VMkernel interface per host can be tagged for PVRDMA",
                         "Specify one interface: paravane system settings advanced set -o "
                         "/Net/PVRDMAVmknic -s vmk1");
  }
  const std::string missing =
      fmt::format("VMkernel interface {} does not exist on this host", vmknic);
  if (vmknic == model::kManagementVmknic) {
    return model::refuse(model::ApiErrorCode::kNotFound, missing,
                         "vmk0 is the interface with [cluster] address of paravaned.toml: set that "
                         "address, and restart paravaned.");
  }
  return model::refuse(model::ApiErrorCode::kNotFound, missing,
                       do_you_mean(vmknic, known) + kListVmknics);
}

model::ApiResult<void> HostVmkernel::set_setting(const model::SettingValue& setting) {
  const model::AdvancedSetting* known = model::find_setting(setting.path);
  if (known == nullptr) {
    std::vector<std::string> paths;
    for (const auto& one : model::advanced_settings()) paths.emplace_back(one.path);
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("setting {} does not exist", setting.path),
                         do_you_mean(setting.path, paths) +
                             "List the settings with: paravane system settings advanced list");
  }
  if (const Status good = model::check_setting(*known, setting.value); !good) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest, good.error().message);
  }
  if (known->path == model::kPvrdmaVmknic) {
    if (auto good = check_tag(setting.value); !good) return good;
  }
  const bool is_kept = !store_.find_left_out(kSettingKind, setting.path);
  if (is_kept && setting.value == model::setting_value(settings_, *known)) return {};
  if (auto kept = store_.put_document(kSettingKind, setting.path, api::to_json(setting)); !kept) {
    return kept;
  }
  settings_[setting.path] = setting.value;
  tell("setting.changed", {{"setting", setting.path}, {"value", setting.value}},
       fmt::format("setting {} is \"{}\"", setting.path, setting.value));
  if (config_.setting_changed) config_.setting_changed();
  on_applied();
  return {};
}

model::ApiResult<void> HostVmkernel::set_ruleset(const model::FirewallRuleset& ruleset) {
  if (ruleset.name != model::kPvrdmaRuleset) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("firewall ruleset {} does not exist", ruleset.name),
                         do_you_mean(ruleset.name, std::vector<std::string>{"pvrdma"}) +
                             "List the rulesets with: paravane network firewall ruleset list");
  }
  const bool is_kept = !store_.find_left_out(kRulesetWord, ruleset.name);
  if (is_kept && ruleset.enabled == pvrdma_enabled_) return {};
  if (auto kept = store_.put_document(kRulesetKind, ruleset.name, api::to_json(ruleset)); !kept) {
    return kept;
  }
  pvrdma_enabled_ = ruleset.enabled;
  const char* state = ruleset.enabled ? "enabled" : "disabled";
  tell("ruleset.changed", {{"ruleset", ruleset.name}, {"state", state}},
       fmt::format("firewall ruleset {} is {}", ruleset.name, state));
  on_applied();
  return {};
}

}  // namespace paravane::host
