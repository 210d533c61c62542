// HostNetwork: IPoIB uplinks of this host's switches, whose taps the engine uses itself.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "host/host_network.h"

namespace paravane::host {

std::vector<privsep::SwitchPlan::IpoibUplink> HostNetwork::used_uplinks(
    const privsep::SwitchPlan& plan) const {
  std::vector<privsep::SwitchPlan::IpoibUplink> used;
  if (!config_.ipoib_uplinks) return used;
  for (privsep::SwitchPlan::IpoibUplink& uplink : config_.ipoib_uplinks()) {
    if (privsep::switch_of_uplink(plan, uplink.name) != nullptr) used.push_back(std::move(uplink));
  }
  return used;
}

// First, as for RoCE ports: the keeper cannot open a tap anew that the engine has open.
void HostNetwork::tell_uplinks(const privsep::SwitchPlan& plan) {
  std::vector<PlannedUplink> wanted;
  for (const privsep::SwitchPlan::IpoibUplink& uplink : plan.ipoib_uplinks) {
    const privsep::SwitchPlan::Switch* vds = privsep::switch_of_uplink(plan, uplink.name);
    wanted.push_back({.uplink = uplink, .vds = vds->name, .mtu = vds->mtu, .vlans = vds->vlans});
  }
  const std::vector<PlannedUplink> before = std::exchange(ipoib_uplinks_, std::move(wanted));
  if (!config_.uplink_gone) return;
  for (const PlannedUplink& known : before) {
    const auto now = std::ranges::find_if(ipoib_uplinks_, [&known](const PlannedUplink& one) {
      return one.uplink == known.uplink && one.vds == known.vds && one.mtu == known.mtu;
    });
    if (now == ipoib_uplinks_.end()) {
      config_.uplink_gone(known.uplink.name, std::nullopt);
      continue;
    }
    for (const std::uint32_t vlan : known.vlans) {
      if (std::ranges::find(now->vlans, vlan) != now->vlans.end()) continue;
      config_.uplink_gone(known.uplink.name, vlan);
    }
  }
}

bool HostNetwork::wants_uplink(const privsep::UplinkNote& tap) const {
  return std::ranges::any_of(ipoib_uplinks_, [&tap](const PlannedUplink& known) {
    const bool has_vlan =
        tap.tagged || std::ranges::find(known.vlans, tap.vlan) != known.vlans.end();
    return known.uplink.name == tap.uplink && known.uplink.making == tap.making &&
           known.mtu == tap.mtu && has_vlan;
  });
}

std::string HostNetwork::switch_of_uplink(const std::string& uplink) const {
  for (const auto& [name, vds] : network_.switches) {
    const std::vector<std::string> uplinks = model::uplinks_of(vds, config_.host);
    if (std::ranges::find(uplinks, uplink) != uplinks.end()) return name;
  }
  return {};
}

// The keeper would look for NICs of these names; add_problems() says what is wrong.
void HostNetwork::leave_out_uplinks(privsep::SwitchPlan::Switch& vds) const {
  if (config_.rules == nullptr) return;
  std::vector<std::string> uplinks = privsep::uplinks_of(vds);
  std::erase_if(uplinks,
                [this](const std::string& one) { return config_.rules->lacks_ipoib_uplink(one); });
  if (!config_.rules->why_no_team(uplinks).empty()) uplinks.resize(1);
  vds.uplink = uplinks.empty() ? std::string() : uplinks.front();
  if (!uplinks.empty()) uplinks.erase(uplinks.begin());
  vds.standby = std::move(uplinks);
}

void HostNetwork::add_problems(privsep::SwitchReport& report) const {
  if (config_.rules == nullptr) return;
  for (privsep::SwitchReport::Switch& made : report.switches) {
    const auto vds = network_.switches.find(made.name);
    if (vds == network_.switches.end()) continue;
    // A draft's report has it already.
    const auto add = [&made](std::string problem) {
      if (std::ranges::find(made.problems, problem) != made.problems.end()) return;
      made.problems.push_back(std::move(problem));
    };
    const std::vector<std::string> uplinks = model::uplinks_of(vds->second, config_.host);
    for (const std::string& uplink : uplinks) {
      if (!config_.rules->lacks_ipoib_uplink(uplink)) continue;
      add(fmt::format("{}. {}", no_ipoib_uplink(uplink), kAddIbAdapter));
    }
    if (std::string why = config_.rules->why_no_team(uplinks); !why.empty()) {
      add(fmt::format("{}. {} is used alone", why, uplinks.front()));
    }
  }
}

}  // namespace paravane::host
