#include "keeper/uplink_offloads.h"

#include <fmt/core.h>

#include <algorithm>

#include "ethernet/udp_segmentation.h"

namespace paravane::keeper {
namespace {

bool has_roce_port(const privsep::SwitchPlan& plan, const std::string& vds) {
  return std::ranges::any_of(plan.roce_ports, [&](const privsep::SwitchPlan::RocePort& port) {
    return std::ranges::any_of(plan.taps, [&](const privsep::SwitchPlan::Tap& tap) {
      return tap.vm == port.vm && tap.adapter == port.adapter && tap.vds == vds;
    });
  });
}

// Of an IPoIB uplink, which cuts nothing apart.
bool is_tap(const privsep::SwitchPlan& plan, const std::string& uplink) {
  return std::ranges::find(plan.ipoib_uplinks, uplink, &privsep::SwitchPlan::IpoibUplink::name) !=
         plan.ipoib_uplinks.end();
}

}  // namespace

bool UplinkOffloads::is_ours(const std::string& uplink) const {
  return std::ranges::find(given_, uplink) != given_.end() &&
         std::ranges::find(trusted_, uplink) == trusted_.end();
}

void UplinkOffloads::make(const privsep::SwitchPlan& plan, privsep::SwitchReport& report) {
  std::set<std::string> off;
  for (const privsep::SwitchPlan::Switch& vds : plan.switches) {
    if (!has_roce_port(plan, vds.name)) continue;
    for (const std::string& uplink : privsep::uplinks_of(vds)) {
      if (is_ours(uplink) && !is_tap(plan, uplink)) turn_off(vds.name, uplink, off, report);
    }
  }
  off_ = std::move(off);
}

void UplinkOffloads::turn_off(const std::string& vds, const std::string& uplink,
                              std::set<std::string>& off, privsep::SwitchReport& report) const {
  const auto was_on = ethernet::stop_cutting_udp(uplink);
  if (was_on) {
    off.insert(uplink);
    if (*was_on && off_.contains(uplink)) {
      report.mended.push_back({.vds = vds,
                               .interface = uplink,
                               .text = "tx-udp-segmentation was on and was turned off"});
    }
    return;
  }
  const auto known = std::ranges::find(report.switches, vds, &privsep::SwitchReport::Switch::name);
  // A NIC that is missing has its problem already.
  if (known == report.switches.end() || !ethernet::cuts_udp(uplink)) return;
  known->problems.push_back(fmt::format(
      "{}: cuts UDP apart itself (tx-udp-segmentation), and this cannot be turned off ({}): "
      "native RoCE endpoints may not understand its packets. Use another NIC; or, if the IPv4 "
      "identifications of its packets were seen to count up, name it in [network] uso_uplinks",
      uplink, was_on.error().message));
}

}  // namespace paravane::keeper
