#include "keeper/roce_ports.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <set>

#include "ethernet/roce_port.h"
#include "ethernet/service_port.h"
#include "model/adapter_name.h"
#include "model/interface_name.h"

namespace paravane::keeper {
namespace {

void complain(const privsep::SwitchPlan::RocePort& port, std::string problem,
              privsep::SwitchReport& report) {
  report.taps.push_back({.vm = port.vm, .adapter = port.adapter, .problem = std::move(problem)});
}

ethernet::WantedServicePort service_port_of(const privsep::SwitchPlan::RocePort& port) {
  return {.tap = model::tap_name(port.vm, port.adapter),
          .label = to_string(model::AdapterName{port.vm, port.adapter}),
          .mac = port.mac};
}

// What another program had changed.
void tell_mended(const ethernet::MadeRocePort& made, const std::string& vds,
                 privsep::SwitchReport& report) {
  for (const ethernet::LinkChange& change : made.changes) {
    report.mended.push_back({.vds = vds, .interface = change.link, .text = change.text});
  }
}

}  // namespace

void RocePorts::make(const privsep::SwitchPlan& plan, privsep::SwitchReport& report,
                     ethernet::LinkFilter& about) {
  remove_others(plan, report);
  for (const privsep::SwitchPlan::RocePort& port : plan.roce_ports) {
    make_one(port, plan, report, about);
  }
}

void RocePorts::remove_others(const privsep::SwitchPlan& plan, privsep::SwitchReport& report) {
  std::set<std::string> wanted;
  std::set<std::string> guest_taps;
  for (const privsep::SwitchPlan::RocePort& port : plan.roce_ports) {
    wanted.insert(model::roce_port_name(port.vm, port.adapter));
    guest_taps.insert(model::tap_name(port.vm, port.adapter));
  }
  std::erase_if(given_, [&](const auto& entry) {
    return !wanted.contains(model::roce_port_name(entry.first.first, entry.first.second));
  });
  const auto there = ethernet::list_roce_ports(mark_);
  if (!there) return;  // make_links() has said so
  for (const ethernet::RocePortName& port : *there) {
    if (wanted.contains(port.name) || guest_taps.contains(port.guest_tap)) continue;
    const Status removed = ethernet::remove_roce_port(mark_, port.name, port.guest_tap);
    if (removed || report.switches.empty()) continue;
    report.switches.front().problems.push_back(fmt::format(
        "the RoCE port of {} cannot be removed: {}", port.guest_tap, removed.error().message));
  }
}

void RocePorts::make_one(const privsep::SwitchPlan::RocePort& port, const privsep::SwitchPlan& plan,
                         privsep::SwitchReport& report, ethernet::LinkFilter& about) {
  const auto tap = std::ranges::find_if(plan.taps, [&](const privsep::SwitchPlan::Tap& one) {
    return one.vm == port.vm && one.adapter == port.adapter;
  });
  const auto vds = std::ranges::find(plan.switches, tap->vds, &privsep::SwitchPlan::Switch::name);
  if (port.adapter == 0) return make_service(port, *vds, report, about);
  const std::string name = model::roce_port_name(port.vm, port.adapter);
  if (!merging_) merging_ = ethernet::find_merging(mark_);
  const auto made = ethernet::ensure_roce_port(
      mark_, {.name = name,
              .guest_tap = model::tap_name(port.vm, port.adapter),
              .mac = port.mac,
              .mtu = vds->mtu,
              .merges = merging_->merges,
              .merging_end = model::merging_end_name(port.vm, port.adapter),
              .filling_end = model::filling_end_name(port.vm, port.adapter)});
  if (!made) return complain(port, fmt::format("{}: {}", name, made.error().message), report);
  for (const ethernet::LinkProblem& problem : made->problems) {
    complain(port, fmt::format("{}: {}", problem.link, problem.text), report);
  }
  if (is_given(port, vds->mtu)) tell_mended(*made, vds->name, report);
  const std::string& unmerged = made->unmerged.empty() ? merging_->lacks : made->unmerged;
  if (!unmerged.empty()) {
    report.unmerged.push_back({.vm = port.vm, .adapter = port.adapter, .why = unmerged});
  }
  about.merge(made->about);
  if (made->problems.empty()) open(port, name, vds->mtu, report);
}

void RocePorts::make_service(const privsep::SwitchPlan::RocePort& port,
                             const privsep::SwitchPlan::Switch& vds, privsep::SwitchReport& report,
                             ethernet::LinkFilter& about) {
  const std::string name = model::tap_name(port.vm, port.adapter);
  const auto made = ethernet::ensure_service_port(mark_, service_port_of(port));
  if (!made) return complain(port, fmt::format("{}: {}", name, made.error().message), report);
  for (const ethernet::LinkProblem& problem : made->problems) {
    complain(port, fmt::format("{}: {}", problem.link, problem.text), report);
  }
  if (is_given(port, vds.mtu)) {
    for (const ethernet::LinkChange& change : made->changes) {
      report.mended.push_back({.vds = vds.name, .interface = change.link, .text = change.text});
    }
  }
  about.merge(made->about);
  if (made->problems.empty()) open(port, name, vds.mtu, report);
}

bool RocePorts::is_given(const privsep::SwitchPlan::RocePort& port, std::uint32_t mtu) const {
  const auto known = given_.find({port.vm, port.adapter});
  return known != given_.end() && known->second.wanted == port && known->second.mtu == mtu;
}

void RocePorts::open(const privsep::SwitchPlan::RocePort& port, const std::string& name,
                     std::uint32_t mtu, privsep::SwitchReport& report) {
  const Given given{.index = ::if_nametoindex(name.c_str()), .mtu = mtu, .wanted = port};
  const Adapter adapter{port.vm, port.adapter};
  const auto known = given_.find(adapter);
  if (known != given_.end() && known->second == given) return;
  auto opened = port.adapter == 0 ? ethernet::open_service_port(mark_, service_port_of(port))
                                  : ethernet::open_roce_port(mark_, name);
  if (!opened) return complain(port, fmt::format("{}: {}", name, opened.error().message), report);
  given_[adapter] = given;
  opened_.push_back({.vm = port.vm,
                     .adapter = port.adapter,
                     .making = port.making,
                     .tap = std::move(opened->tap),
                     .mtu = mtu,
                     .takes_superframes = opened->header_bytes != 0});
}

}  // namespace paravane::keeper
