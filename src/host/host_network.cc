#include "host/host_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "base/nearest_name.h"
#include "host/network_draft.h"
#include "host/refusals.h"
#include "model/interface_name.h"
#include "model/vm.h"

namespace paravane::host {

using model::ApiResult;
using model::PortGroup;
using model::PortGroupStatus;
using model::SwitchHost;
using model::SwitchStatus;

namespace {

// Of a draft: everything stays as it is.
class NothingToMake final : public privsep::SwitchMaker {
 public:
  explicit NothingToMake(privsep::SwitchReport report) : report_(std::move(report)) {}
  privsep::SwitchReport make(const privsep::SwitchPlan& /*plan*/) override { return report_; }

 private:
  privsep::SwitchReport report_;
};

// The RoCE ports of a plan, each with the MTU of its switch.
std::vector<std::pair<privsep::SwitchPlan::RocePort, std::uint32_t>> with_mtus(
    const privsep::SwitchPlan& plan) {
  std::vector<std::pair<privsep::SwitchPlan::RocePort, std::uint32_t>> ports;
  for (const privsep::SwitchPlan::RocePort& port : plan.roce_ports) {
    const auto tap = std::ranges::find_if(plan.taps, [&](const privsep::SwitchPlan::Tap& one) {
      return one.vm == port.vm && one.adapter == port.adapter;
    });
    const auto vds = std::ranges::find(plan.switches, tap->vds, &privsep::SwitchPlan::Switch::name);
    ports.emplace_back(port, vds->mtu);
  }
  return ports;
}

}  // namespace

HostNetwork::HostNetwork(HostNetworkConfig config, store::NetworkInventory& inventory,
                         std::function<std::vector<PortUse>()> uses)
    : config_(std::move(config)),
      inventory_(inventory),
      uses_(std::move(uses)),
      own_name_(config_.host),
      teller_(config_.tell) {}

model::ApiResult<void> HostNetwork::load() {
  auto network = inventory_.read_network();
  if (!network) return std::unexpected(network.error());
  network_ = std::move(*network);
  return {};
}

void HostNetwork::settle() {
  if (!view_) static_cast<void>(load());
  apply();
}

bool HostNetwork::follow(const std::string& host, std::shared_ptr<const inventory::View> view) {
  const std::string name = host.empty() ? own_name_ : host;
  const std::string before = std::exchange(config_.host, name);
  const bool renamed = before != name;
  if (renamed && host.empty()) take_own_name(before);
  view_ = std::move(view);
  // An etcd that has nothing is not one whose switches are all gone.
  const bool whole = view_ && view_->documents.contains("cluster");
  const bool changed = whole && view_->network != network_;
  if (whole) mend_left_out(view_->network);
  if (changed) {
    keep(view_->network);
    network_ = view_->network;
  }
  if (changed || renamed || !view_) apply();
  return changed;
}

// The cluster that called it so is left, and its VMs go on: it stays in its switches.
void HostNetwork::take_own_name(const std::string& before) {
  for (auto& [name, vds] : network_.switches) {
    if (!model::rename_member(vds, before, own_name_)) continue;
    if (auto kept = inventory_.put_switch(vds); !kept) {
      changes_.error("cannot save switch {}: {}", name, kept.error().message);
    }
  }
}

void HostNetwork::log_created(const model::PortGroup& group) {
  changes_.info("port group {}: created, switch {}, VLAN {}", group.name, group.vds, group.vlan);
}

void HostNetwork::log_changed(const model::PortGroup& group) {
  changes_.info("port group {}: changed, RoCE {}, routed {}", group.name,
                model::roce_word(group.native_roce), model::routed_word(group.routed));
}

// For a start while etcd is away; the cluster has it anyway. What is told here has happened:
// a draft may still be refused.
void HostNetwork::keep(const model::Network& network) {
  const auto tell = [this](const model::ApiResult<void>& kept) {
    if (!kept)
      changes_.error("cannot save the cluster's switches on this host: {}", kept.error().message);
  };
  for (const auto& [name, vds] : network.switches) {
    const auto old = network_.switches.find(name);
    if (old == network_.switches.end()) changes_.info("switch {}: created", name);
    if (old == network_.switches.end() || old->second != vds) tell(inventory_.put_switch(vds));
  }
  for (const auto& [name, group] : network.port_groups) {
    const auto old = network_.port_groups.find(name);
    if (old != network_.port_groups.end() && old->second == group) continue;
    old == network_.port_groups.end() ? log_created(group) : log_changed(group);
    tell(inventory_.put_port_group(group));
  }
  for (const auto& [name, group] : network_.port_groups) {
    if (network.port_groups.contains(name)) continue;
    changes_.info("port group {}: deleted", name);
    tell(inventory_.erase_port_group(name));
  }
  for (const auto& [name, vds] : network_.switches) {
    if (network.switches.contains(name)) continue;
    changes_.info("switch {}: deleted", name);
    tell(inventory_.erase_switch(name));
  }
}

model::ApiResult<std::optional<NetworkChange>> HostNetwork::draft(
    const std::function<model::ApiResult<void>(model::NetworkManagement&)>& act) const {
  NetworkDraft writes(network_);
  NothingToMake maker(report_);
  HostNetworkConfig config = config_;
  config.maker = &maker;
  config.changed = {};
  config.applied = {};
  config.roce_changed = {};
  config.roce_ports_gone = {};
  config.uplink_gone = {};
  config.tell = {};
  HostNetwork draft(std::move(config), writes, uses_);
  draft.network_ = network_;
  draft.report_ = report_;
  draft.view_ = view_;
  if (auto done = act(draft); !done) return std::unexpected(done.error());
  return writes.change();
}

bool HostNetwork::has_seen(const NetworkChange& change) const {
  if (!view_) return false;
  const auto found = view_->documents.find(change.document);
  if (found == view_->documents.end()) return !change.json;
  return change.json == found->second;
}

model::ApiResult<void> HostNetwork::check_member(const std::string& host) const {
  const std::set<std::string> members =
      config_.members ? config_.members() : std::set<std::string>();
  if (members.empty() || members.contains(host)) return {};
  return model::refuse(model::ApiErrorCode::kNotFound,
                       fmt::format("host {} is not in the cluster", host),
                       do_you_mean(host, members) + "List the hosts with: paravane cluster status");
}

privsep::SwitchPlan HostNetwork::plan() const {
  privsep::SwitchPlan plan;
  for (const auto& [name, vds] : network_.switches) {
    const auto member = vds.hosts.find(config_.host);
    if (member == vds.hosts.end()) continue;
    privsep::SwitchPlan::Switch one{
        .name = name, .mtu = vds.mtu, .uplink = member->second, .vlans = {}};
    if (const auto team = vds.standby.find(config_.host); team != vds.standby.end()) {
      one.standby = team->second;
    }
    for (const auto& [group_name, group] : network_.port_groups) {
      if (group.vds == name) one.vlans.push_back(group.vlan);
    }
    std::ranges::sort(one.vlans);
    const auto twice = std::ranges::unique(one.vlans);
    one.vlans.erase(twice.begin(), twice.end());
    plan.switches.push_back(std::move(one));
  }
  for (const PortUse& use : uses_()) {
    const auto group = network_.port_groups.find(use.port_group);
    if (group == network_.port_groups.end()) continue;
    const std::string& vds = group->second.vds;
    if (std::ranges::find(plan.switches, vds, &privsep::SwitchPlan::Switch::name) ==
        plan.switches.end()) {
      continue;
    }
    const bool reaches_native =
        group->second.native_roce && model::has_native_endpoints(use.hw_version) && use.mac;
    // The tap of a service is its RoCE port, and tags no frames.
    const bool is_service = use.adapter.number == 0;
    if (is_service && (!reaches_native || group->second.vlan == model::kGuestVlans)) continue;
    plan.taps.push_back({.vm = use.adapter.vm,
                         .adapter = use.adapter.number,
                         .vds = vds,
                         .vlan = group->second.vlan});
    if (reaches_native) {
      plan.roce_ports.push_back({.vm = use.adapter.vm,
                                 .adapter = use.adapter.number,
                                 .mac = *use.mac,
                                 .making = use.making});
    }
  }
  for (const model::Vmknic& vmknic : vmknics()) {
    const auto group = find_on_this_host(vmknic.port_group);
    if (!group) continue;
    plan.vmknics.push_back({.name = vmknic.name,
                            .vds = group->vds,
                            .vlan = group->vlan,
                            .mac = vmknic.mac.value_or(model::MacAddress{}),
                            .ipv4 = vmknic.ipv4});
  }
  plan.ipoib_uplinks = used_uplinks(plan);
  for (privsep::SwitchPlan::Switch& vds : plan.switches) leave_out_uplinks(vds);
  return plan;
}

std::vector<model::MendedLink> HostNetwork::apply() {
  is_made_ = true;
  if (config_.changed) config_.changed(network_);
  privsep::SwitchReport report{.problem = "switches cannot be created on this host"};
  if (config_.maker != nullptr) {
    const privsep::SwitchPlan wanted = plan();
    if (config_.roce_changed) config_.roce_changed();  // a port that is closed has its reason
    tell_roce_ports(wanted);
    tell_uplinks(wanted);
    report = config_.maker->make(wanted);
  }
  std::vector<model::MendedLink> mended = std::exchange(report.mended, {});
  teller_.on_mended(mended, std::chrono::steady_clock::now());
  take(std::move(report));
  return mended;
}

// First, so that the engine does not hold a port that is being removed.
void HostNetwork::tell_roce_ports(const privsep::SwitchPlan& plan) {
  auto wanted = with_mtus(plan);
  std::vector<model::AdapterName> gone;
  for (const auto& known : roce_ports_) {
    if (std::ranges::find(wanted, known) != wanted.end()) continue;
    gone.push_back({known.first.vm, known.first.adapter});
  }
  if (!gone.empty() && config_.roce_ports_gone) config_.roce_ports_gone(gone);
  roce_ports_ = std::move(wanted);
}

void HostNetwork::on_news(privsep::SwitchLine::News news) {
  teller_.on_mended(news.mended, std::chrono::steady_clock::now());
  if (news.report) take(std::move(*news.report));
}

void HostNetwork::take(privsep::SwitchReport report) {
  add_problems(report);
  teller_.on_report(report, report_, std::chrono::steady_clock::now());
  report_ = std::move(report);
  if (config_.roce_changed) config_.roce_changed();
  if (config_.applied) config_.applied();
}

model::ApiResult<model::PortGroup> HostNetwork::find_on_this_host(
    const std::string& port_group) const {
  auto group = model::find_port_group(network_, port_group);
  if (!group) return group;
  const auto vds = model::find_switch(network_, group->vds);
  if (!vds) return std::unexpected(vds.error());
  if (vds->hosts.contains(config_.host)) return group;
  return model::refuse(
      model::ApiErrorCode::kInvalidRequest,
      fmt::format("port group {} belongs to switch {}, but host {} is not in that switch",
                  group->name, vds->name, config_.host),
      fmt::format(
          "Add the host first: paravane vds add-host {} {} (in a cluster: on the authority's host)",
          vds->name, config_.host));
}

model::ApiResult<void> HostNetwork::check_vmknic(const model::Vmknic& vmknic) const {
  const auto group = find_on_this_host(vmknic.port_group);
  if (!group) return std::unexpected(group.error());
  if (group->vlan != model::kGuestVlans) return {};
  return model::refuse(
      model::ApiErrorCode::kInvalidRequest,
      fmt::format("port group {} has VLAN {} (guest VLAN tagging), and {} does not tag its frames",
                  group->name, model::kGuestVlans, vmknic.name),
      "Choose a port group with one VLAN.");
}

model::ApiResult<void> HostNetwork::check_use(const PortUse& use) const {
  if (use.port_group.empty()) return {};
  if (const auto group = find_on_this_host(use.port_group); !group) {
    return std::unexpected(group.error());
  }
  const std::string tap = model::tap_name(use.adapter.vm, use.adapter.number);
  for (const PortUse& other : uses_()) {
    if (model::tap_name(other.adapter.vm, other.adapter.number) != tap) continue;
    if (other.adapter == use.adapter) continue;
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("{} is already the tap of {}", tap, to_string(other.adapter)),
                         "Choose another name for the VM.");
  }
  return {};
}

model::ApiResult<model::SwitchStatus> HostNetwork::put(const model::DistributedSwitch& vds) {
  if (auto kept = inventory_.put_switch(vds); !kept) return std::unexpected(kept.error());
  network_.switches[vds.name] = vds;
  apply();
  return status_of(vds);
}

model::ApiResult<void> HostNetwork::check_given(const model::SwitchHost& host) const {
  if (host.host != config_.host) return {};
  for (const std::string& uplink : model::uplinks_of(host)) {
    if (std::ranges::find(config_.uplinks, uplink) != config_.uplinks.end()) continue;
    const std::string nic = config_.rules == nullptr ? uplink : config_.rules->shown(uplink);
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("{} may not be used by switches on this host", nic),
        fmt::format("Add {} to [network] uplinks in paravaned.toml, and restart the daemon.",
                    model::is_ipoib_uplink_name(uplink) ? uplink : "the NIC"));
  }
  return {};
}

model::ApiResult<model::SwitchHost> HostNetwork::resolve(const model::SwitchHost& host) const {
  if (host.host == config_.host && config_.rules != nullptr) {
    return config_.rules->resolve_all(host);
  }
  if (host.host == config_.host) return host;
  for (const std::string& uplink : model::uplinks_of(host)) {
    // An IPoIB uplink is called so on each host.
    if (!model::is_nic_name(uplink) || model::is_ipoib_uplink_name(uplink)) continue;
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("{} of host {} can be resolved on that host only", uplink, host.host),
        "Use its Linux interface name, as shown there by: paravane network nic list");
  }
  return host;
}

model::ApiResult<model::SwitchStatus> HostNetwork::create_switch(
    const model::DistributedSwitch& asked) {
  if (auto free = check_not_left_out(model::kLeftOutSwitch, asked.name); !free) {
    return std::unexpected(free.error());
  }
  model::DistributedSwitch vds = asked;
  for (const auto& [host, uplink] : asked.hosts) {
    const auto known = resolve(*model::member_of(asked, host));
    if (!known) return std::unexpected(known.error());
    model::put_member(vds, *known);
  }
  if (auto free = model::check_new_switch(network_, vds); !free)
    return std::unexpected(free.error());
  for (const auto& [host, uplink] : vds.hosts) {
    if (auto known = check_member(host); !known) return std::unexpected(known.error());
    if (auto given = check_given(*model::member_of(vds, host)); !given) {
      return std::unexpected(given.error());
    }
  }
  auto made = put(vds);
  if (made && !view_) changes_.info("switch {}: created", vds.name);
  return made;
}

model::ApiResult<model::SwitchStatus> HostNetwork::set_switch_mtu(const std::string& name,
                                                                  std::uint32_t mtu) {
  auto vds = model::find_switch(network_, name);
  if (!vds) return std::unexpected(vds.error());
  vds->mtu = mtu;
  return put(*vds);
}

model::ApiResult<void> HostNetwork::delete_switch(const std::string& name) {
  if (const auto known = inventory_.find_left_out(model::kLeftOutSwitch, name)) {
    return inventory_.erase_left_out(*known);
  }
  if (const auto vds = model::find_switch(network_, name); !vds) {
    return std::unexpected(vds.error());
  }
  if (auto unused = model::check_switch_unused(network_, name); !unused) return unused;
  if (auto kept = inventory_.erase_switch(name); !kept) return kept;
  network_.switches.erase(name);
  apply();
  if (!view_) changes_.info("switch {}: deleted", name);
  return {};
}

model::ApiResult<model::SwitchStatus> HostNetwork::add_switch_host(const std::string& name,
                                                                   const model::SwitchHost& asked) {
  const auto resolved = resolve(asked);
  if (!resolved) return std::unexpected(resolved.error());
  const model::SwitchHost& host = *resolved;
  if (auto free = model::check_new_host(network_, name, host); !free) {
    return std::unexpected(free.error());
  }
  if (auto known = check_member(host.host); !known) return std::unexpected(known.error());
  if (auto given = check_given(host); !given) return std::unexpected(given.error());
  model::DistributedSwitch vds = network_.switches.at(name);
  model::put_member(vds, host);
  return put(vds);
}

model::ApiResult<model::SwitchStatus> HostNetwork::set_switch_uplink(
    const std::string& name, const model::SwitchHost& asked) {
  const auto resolved = resolve(asked);
  if (!resolved) return std::unexpected(resolved.error());
  const model::SwitchHost& host = *resolved;
  auto vds = model::find_switch(network_, name);
  if (!vds) return std::unexpected(vds.error());
  if (!vds->hosts.contains(host.host)) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("host {} is not in switch {}", host.host, name),
                         do_you_mean(host.host, std::views::keys(vds->hosts)) +
                             "List the hosts of the switches with: paravane vds list");
  }
  if (auto free = model::check_uplink(network_, name, host); !free)
    return std::unexpected(free.error());
  if (auto given = check_given(host); !given) return std::unexpected(given.error());
  if (host.host == config_.host && config_.rules != nullptr) {
    auto quiet = config_.rules->check_edit(name, model::uplinks_of(*vds, host.host),
                                           model::uplinks_of(host));
    if (!quiet) return std::unexpected(quiet.error());
  }
  model::put_member(*vds, host);
  return put(*vds);
}

model::ApiResult<model::SwitchStatus> HostNetwork::remove_switch_host(const std::string& name,
                                                                      const std::string& host) {
  auto vds = model::find_switch(network_, name);
  if (!vds) return std::unexpected(vds.error());
  if (!model::erase_member(*vds, host)) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("host {} is not in switch {}", host, name),
                         "List the hosts of the switches with: paravane vds list");
  }
  if (auto unused = check_unused_on(host, name); !unused) return std::unexpected(unused.error());
  return put(*vds);
}

model::ApiResult<model::SwitchRepair> HostNetwork::repair_switches() {
  model::SwitchRepair repair{.mended = apply()};
  repair.switches = *list_switches();
  return repair;
}

model::ApiResult<model::PortGroupStatus> HostNetwork::create_port_group(
    const model::PortGroup& group) {
  if (auto free = check_not_left_out(model::kLeftOutPortGroup, group.name); !free) {
    return std::unexpected(free.error());
  }
  if (auto free = model::check_new_port_group(network_, group); !free) {
    return std::unexpected(free.error());
  }
  if (auto kept = inventory_.put_port_group(group); !kept) return std::unexpected(kept.error());
  network_.port_groups[group.name] = group;
  apply();
  if (!view_) log_created(group);
  return status_of(group);
}

}  // namespace paravane::host
