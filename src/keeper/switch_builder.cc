#include "keeper/switch_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "ethernet/links.h"
#include "model/adapter_name.h"
#include "model/interface_name.h"
#include "model/machine.h"

namespace paravane::keeper {
namespace {

using ethernet::WantedPort;

class Layout {
 public:
  Layout(const privsep::SwitchPlan& plan, const SwitchBuilderConfig& config, bool vlan_aware)
      : plan_(plan), config_(config), vlan_aware_(vlan_aware) {
    layout_.links.given = config.uplinks;
    layout_.links.tap_access = config.tap_access;
  }

  SwitchLayout run() {
    for (const privsep::SwitchPlan::Switch& vds : plan_.switches) {
      privsep::SwitchReport::Switch& report = layout_.report.switches.emplace_back();
      report.name = vds.name;
      report.form = vlan_aware_ ? model::SwitchForm::kVlanAware : model::SwitchForm::kPlain;
      if (vlan_aware_) {
        lay_out_vlan_aware(vds, report);
      } else {
        lay_out_plain(vds, report);
      }
    }
    for (const privsep::SwitchPlan::Tap& tap : plan_.taps) lay_out_tap(tap);
    for (const privsep::SwitchPlan::Vmknic& vmknic : plan_.vmknics) lay_out_vmknic(vmknic);
    return std::move(layout_);
  }

 private:
  // False: something else has the name, after it was cut.
  bool is_free(const std::string& name, std::vector<std::string>& problems) {
    if (names_.insert(name).second) return true;
    problems.push_back(fmt::format(
        "{}: two interfaces would have this name; rename one of the objects that they belong to",
        name));
    return false;
  }

  bool add_bridge(const privsep::SwitchPlan::Switch& vds, const std::string& name, bool vlan_aware,
                  privsep::SwitchReport::Switch& report) {
    if (!is_free(name, report.problems)) return false;
    good_bridges_.insert({vds.name, name});
    layout_.links.bridges.push_back(
        {.name = name, .label = vds.name, .mtu = vds.mtu, .vlan_aware = vlan_aware});
    report.bridges.push_back(name);
    return true;
  }

  // The engine asks, the operator's file decides.
  bool is_given(const std::string& uplink, privsep::SwitchReport::Switch& report) const {
    if (std::ranges::find(config_.uplinks, uplink) != config_.uplinks.end()) return true;
    report.problems.push_back(
        fmt::format("{} is not listed in [network] uplinks of paravaned.toml and is not used: add "
                    "it there, and restart the daemon",
                    uplink));
    return false;
  }

  const privsep::SwitchPlan::IpoibUplink* find_ipoib_uplink(const std::string& uplink) const {
    const auto found =
        std::ranges::find(plan_.ipoib_uplinks, uplink, &privsep::SwitchPlan::IpoibUplink::name);
    return found == plan_.ipoib_uplinks.end() ? nullptr : &*found;
  }

  // `port`: its bridge and VLANs. False: there are too many.
  bool add_uplink_tap(UplinkTap tap, const privsep::SwitchPlan::Switch& vds, WantedPort port,
                      ethernet::WantedTeam::Member& member, privsep::SwitchReport::Switch& report) {
    if (layout_.uplink_taps.size() >= kMaxUplinkTaps) return false;
    if (!is_free(tap.name, report.problems)) return true;
    port.name = tap.name;
    if (!add_parking(vds, port, report)) return true;
    member.ports.push_back(tap.name);
    port.label = fmt::format("uplink:{}", tap.uplink);  // no adapter is called so
    port.is_for_root = true;
    layout_.links.taps.push_back(std::move(port));
    layout_.uplink_taps.push_back(std::move(tap));
    return true;
  }

  // Also names the bridge on which it stands by, if it is one of a team.
  bool add_parking(const privsep::SwitchPlan::Switch& vds, WantedPort& port,
                   privsep::SwitchReport::Switch& report) {
    if (vds.standby.empty()) return true;
    port.parking = model::parking_bridge_name(port.name);
    if (!is_free(port.parking, report.problems)) return false;
    layout_.links.bridges.push_back(
        {.name = port.parking, .label = vds.name, .mtu = vds.mtu, .is_parking = true});
    return true;
  }

  void add_nic(const privsep::SwitchPlan::Switch& vds, WantedPort port,
               ethernet::WantedTeam::Member& member, privsep::SwitchReport::Switch& report) {
    if (!add_parking(vds, port, report)) return;
    member.ports.push_back(port.name);
    layout_.links.uplinks.push_back(std::move(port));
  }

  // Or an uplink that is alone.
  void add_team(const privsep::SwitchPlan::Switch& vds,
                std::vector<ethernet::WantedTeam::Member> members) {
    std::erase_if(members, [](const auto& member) { return member.ports.empty(); });
    if (vds.standby.empty()) {
      std::ranges::move(members, std::back_inserter(layout_.links.alone));
    } else if (!members.empty()) {
      layout_.links.teams.push_back({.name = vds.name, .members = std::move(members)});
    }
  }

  void lay_out_vlan_aware(const privsep::SwitchPlan::Switch& vds,
                          privsep::SwitchReport::Switch& report) {
    const std::string bridge = model::bridge_name(vds.name);
    if (!add_bridge(vds, bridge, true, report)) return;
    const bool has_guests = add_guest_bridge(vds, report);
    WantedPort port{.name = {}, .bridge = bridge};
    for (const std::uint32_t vlan : vds.vlans) {
      if (vlan != 0 && vlan != model::kGuestVlans)
        port.tagged.push_back(static_cast<std::uint16_t>(vlan));
    }
    if (std::ranges::find(vds.vlans, 0u) != vds.vlans.end()) port.untagged = inner_vlan(vds, 0);
    std::vector<ethernet::WantedTeam::Member> members;
    for (const std::string& uplink : privsep::uplinks_of(vds)) {
      if (!is_given(uplink, report)) continue;
      members.push_back({.name = uplink, .ports = {}});
      port.name = uplink;
      if (const auto* ipoib = find_ipoib_uplink(uplink)) {
        UplinkTap tap{.name = model::uplink_tap_name(uplink, 0),
                      .uplink = uplink,
                      .vds = vds.name,
                      .tagged = true,
                      .mtu = vds.mtu,
                      .making = ipoib->making};
        // As many as a host can have, there is one for each, and one of its guests' VLANs.
        static_assert(2 * model::kMaxIpoibUplinks <= kMaxUplinkTaps);
        add_uplink_tap(std::move(tap), vds, port, members.back(), report);
        if (has_guests) add_guest_tap(vds, *ipoib, members.back(), report);
      } else {
        add_nic(vds, port, members.back(), report);
      }
    }
    add_team(vds, std::move(members));
  }

  void lay_out_plain(const privsep::SwitchPlan::Switch& vds,
                     privsep::SwitchReport::Switch& report) {
    std::vector<std::uint32_t> made;
    for (const std::uint32_t vlan : vds.vlans) {
      if (vlan == model::kGuestVlans) continue;
      if (add_bridge(vds, model::bridge_name(vds.name, vlan), false, report)) made.push_back(vlan);
    }
    const bool has_guests = add_guest_bridge(vds, report);
    std::vector<ethernet::WantedTeam::Member> members;
    std::set<std::uint32_t> alone;  // VLANs that NICs do not carry
    for (const std::string& uplink : privsep::uplinks_of(vds)) {
      if (!is_given(uplink, report)) continue;
      members.push_back({.name = uplink, .ports = {}});
      if (const auto* ipoib = find_ipoib_uplink(uplink)) {
        add_plain_taps(vds, made, *ipoib, members.back(), report);
        if (has_guests) add_guest_tap(vds, *ipoib, members.back(), report);
      } else {
        add_plain_nic(vds, uplink, made, alone, members.back(), report);
      }
    }
    add_team(vds, std::move(members));
    if (alone.empty()) return;
    report.problems.push_back(
        fmt::format("this kernel's bridge does not support VLAN filtering: VLAN {} has no uplink "
                    "and cannot reach other hosts",
                    fmt::join(alone, ", ")));
  }

  void add_plain_nic(const privsep::SwitchPlan::Switch& vds, const std::string& nic,
                     const std::vector<std::uint32_t>& vlans, std::set<std::uint32_t>& alone,
                     ethernet::WantedTeam::Member& member, privsep::SwitchReport::Switch& report) {
    for (const std::uint32_t vlan : vlans) {
      if (vlan == 0) {
        add_nic(vds, {.name = nic, .bridge = model::bridge_name(vds.name)}, member, report);
      } else {
        alone.insert(vlan);
      }
    }
  }

  void add_plain_taps(const privsep::SwitchPlan::Switch& vds,
                      const std::vector<std::uint32_t>& vlans,
                      const privsep::SwitchPlan::IpoibUplink& uplink,
                      ethernet::WantedTeam::Member& member, privsep::SwitchReport::Switch& report) {
    std::vector<std::uint32_t> alone;
    for (const std::uint32_t vlan : vlans) {
      UplinkTap tap{.name = model::uplink_tap_name(uplink.name, vlan),
                    .uplink = uplink.name,
                    .vds = vds.name,
                    .vlan = vlan,
                    .mtu = vds.mtu,
                    .making = uplink.making};
      WantedPort port{.name = {}, .bridge = model::bridge_name(vds.name, vlan)};
      if (!add_uplink_tap(std::move(tap), vds, std::move(port), member, report))
        alone.push_back(vlan);
    }
    if (!alone.empty()) report.problems.push_back(no_tap_left(alone));
  }

  // Of VMs that tag their frames themselves. False: there are none, or the bridge cannot be.
  bool add_guest_bridge(const privsep::SwitchPlan::Switch& vds,
                        privsep::SwitchReport::Switch& report) {
    if (std::ranges::find(vds.vlans, model::kGuestVlans) == vds.vlans.end()) return false;
    const auto uplinks = privsep::uplinks_of(vds);
    const bool has_ipoib = std::ranges::any_of(uplinks, [this](const std::string& uplink) {
      return find_ipoib_uplink(uplink) != nullptr;
    });
    if (!has_ipoib) {
      report.problems.push_back(
          fmt::format("VLAN {} (guest VLAN tagging) needs an IPoIB uplink: without one, its VMs "
                      "reach only each other. Set an IPoIB uplink, or use a port group for each "
                      "VLAN",
                      model::kGuestVlans));
    }
    return add_bridge(vds, model::bridge_name(vds.name, model::kGuestVlans), false, report);
  }

  void add_guest_tap(const privsep::SwitchPlan::Switch& vds,
                     const privsep::SwitchPlan::IpoibUplink& uplink,
                     ethernet::WantedTeam::Member& member, privsep::SwitchReport::Switch& report) {
    UplinkTap tap{.name = model::uplink_tap_name(uplink.name, model::kGuestVlans),
                  .uplink = uplink.name,
                  .vds = vds.name,
                  .vlan = model::kGuestVlans,
                  .tagged = true,
                  .mtu = vds.mtu,
                  .making = uplink.making};
    WantedPort port{.name = {}, .bridge = model::bridge_name(vds.name, model::kGuestVlans)};
    if (!add_uplink_tap(std::move(tap), vds, std::move(port), member, report))
      report.problems.push_back(no_tap_left({model::kGuestVlans}));
  }

  static std::string no_tap_left(const std::vector<std::uint32_t>& vlans) {
    return fmt::format(
        "the limit of {} taps of IPoIB uplinks is reached: VLAN {} has no uplink and "
        "cannot reach other hosts",
        kMaxUplinkTaps, fmt::join(vlans, ", "));
  }

  // The bridge of a VLAN.
  std::string bridge_of(const std::string& vds, std::uint32_t vlan) const {
    const bool has_own = !vlan_aware_ || vlan == model::kGuestVlans;
    return model::bridge_name(vds, has_own ? vlan : 0);
  }

  // The VLAN inside a VLAN-aware bridge. Frames without a tag are in one that no port
  // group has, so that no frame with its tag is taken for one of them unless it comes
  // from outside with just that.
  static std::uint16_t inner_vlan(const privsep::SwitchPlan::Switch& vds, std::uint32_t vlan) {
    if (vlan == model::kGuestVlans) return 0;  // its bridge filters nothing
    if (vlan != 0) return static_cast<std::uint16_t>(vlan);
    std::uint32_t free = model::kMaxVlan;
    while (free > 1 && std::ranges::find(vds.vlans, free) != vds.vlans.end()) --free;
    return static_cast<std::uint16_t>(free);
  }

  void lay_out_tap(const privsep::SwitchPlan::Tap& tap) {
    std::vector<std::string> problems;
    const std::string name = model::tap_name(tap.vm, tap.adapter);
    const std::string bridge = bridge_of(tap.vds, tap.vlan);
    if (!good_bridges_.contains({tap.vds, bridge})) {
      problems.push_back(fmt::format("{}: its bridge {} belongs to another switch", name, bridge));
    }
    if (!problems.empty() || !is_free(name, problems)) {
      layout_.report.taps.push_back(
          {.vm = tap.vm, .adapter = tap.adapter, .problem = problems.front()});
      return;
    }
    const auto vds = std::ranges::find(plan_.switches, tap.vds, &privsep::SwitchPlan::Switch::name);
    layout_.links.taps.push_back({.name = name,
                                  .bridge = bridge,
                                  .untagged = inner_vlan(*vds, tap.vlan),
                                  .tagged = {},
                                  .label = to_string(model::AdapterName{tap.vm, tap.adapter}),
                                  .is_for_root = tap.adapter == 0});
  }

  void lay_out_vmknic(const privsep::SwitchPlan::Vmknic& vmknic) {
    std::vector<std::string> problems;
    const std::string bridge = bridge_of(vmknic.vds, vmknic.vlan);
    const std::string port = model::vmknic_port_name(vmknic.name);
    if (!good_bridges_.contains({vmknic.vds, bridge})) {
      problems.push_back(fmt::format("its bridge {} belongs to another switch", bridge));
    }
    if (!problems.empty() || !is_free(vmknic.name, problems) || !is_free(port, problems)) {
      layout_.report.vmknics.push_back({.name = vmknic.name, .problem = problems.front()});
      return;
    }
    const auto vds =
        std::ranges::find(plan_.switches, vmknic.vds, &privsep::SwitchPlan::Switch::name);
    layout_.links.own.push_back({.name = vmknic.name,
                                 .mac = vmknic.mac,
                                 .ipv4 = vmknic.ipv4,
                                 .port = {.name = port,
                                          .bridge = bridge,
                                          .untagged = inner_vlan(*vds, vmknic.vlan),
                                          .label = vmknic.name}});
  }

  const privsep::SwitchPlan& plan_;
  const SwitchBuilderConfig& config_;
  const bool vlan_aware_;
  SwitchLayout layout_;
  std::set<std::string> names_;
  std::set<std::pair<std::string, std::string>> good_bridges_;  // switch and its bridge
};

// Whether a link is an uplink of the switch, or the bridge on which one stands by.
bool is_uplink_of(const privsep::SwitchPlan::Switch& vds, const std::string& link) {
  return std::ranges::any_of(privsep::uplinks_of(vds), [&link](const std::string& uplink) {
    return link == uplink || link == model::parking_bridge_name(uplink);
  });
}

bool is_tap_of(const std::vector<UplinkTap>& taps, const std::string& link,
               const std::string& vds) {
  return std::ranges::any_of(
      taps, [&](const UplinkTap& tap) { return tap.name == link && tap.vds == vds; });
}

// What helps an uplink that has no link.
std::string_view link_cure(const privsep::SwitchPlan& plan, const std::string& uplink) {
  const bool is_ipoib =
      std::ranges::find(plan.ipoib_uplinks, uplink, &privsep::SwitchPlan::IpoibUplink::name) !=
      plan.ipoib_uplinks.end();
  return is_ipoib ? "See why with: paravane infiniband uplink list"
                  : "Check its cable, and the port at the other end";
}

// Whose a problem with a link is.
void sort_in(const privsep::SwitchPlan& plan, const std::vector<ethernet::LinkProblem>& problems,
             SwitchLayout& layout) {
  privsep::SwitchReport& report = layout.report;
  for (const ethernet::LinkProblem& problem : problems) {
    std::string text = fmt::format("{}: {}", problem.link, problem.text);
    if (problem.no_link) text += fmt::format(". {}", link_cure(plan, problem.link));
    for (std::size_t i = 0; i < plan.switches.size(); ++i) {
      privsep::SwitchReport::Switch& vds = report.switches[i];
      const bool about = is_uplink_of(plan.switches[i], problem.link) ||
                         is_tap_of(layout.uplink_taps, problem.link, vds.name) ||
                         std::ranges::find(vds.bridges, problem.link) != vds.bridges.end();
      if (about) vds.problems.push_back(text);
    }
    for (const privsep::SwitchPlan::Tap& tap : plan.taps) {
      if (model::tap_name(tap.vm, tap.adapter) != problem.link) continue;
      report.taps.push_back(
          {.vm = tap.vm,
           .adapter = tap.adapter,
           .problem = text,
           .fault = problem.foreign ? model::LinkFault::kForeign : model::LinkFault::kOther});
    }
    for (const privsep::SwitchPlan::Vmknic& vmknic : plan.vmknics) {
      const bool about =
          problem.link == vmknic.name || problem.link == model::vmknic_port_name(vmknic.name);
      if (about) report.vmknics.push_back({.name = vmknic.name, .problem = text});
    }
  }
}

// The switch that a link is of; empty: of none.
std::string switch_of(const std::string& link, const privsep::SwitchPlan& plan,
                      const SwitchLayout& layout) {
  for (std::size_t i = 0; i < plan.switches.size(); ++i) {
    const std::vector<std::string>& bridges = layout.report.switches[i].bridges;
    if (is_uplink_of(plan.switches[i], link) || std::ranges::count(bridges, link) != 0) {
      return plan.switches[i].name;
    }
  }
  for (const UplinkTap& tap : layout.uplink_taps) {
    if (tap.name == link) return tap.vds;
  }
  for (const privsep::SwitchPlan::Tap& tap : plan.taps) {
    if (model::tap_name(tap.vm, tap.adapter) == link) return tap.vds;
  }
  for (const privsep::SwitchPlan::Vmknic& vmknic : plan.vmknics) {
    if (link == vmknic.name || link == model::vmknic_port_name(vmknic.name)) return vmknic.vds;
  }
  return {};
}

template <typename T>
const T* find_link(const std::vector<T>& wanted, const std::string& name) {
  const auto found = std::ranges::find(wanted, name, &T::name);
  return found == wanted.end() ? nullptr : &*found;
}

template <typename T>
bool same(const std::vector<T>& one, const std::vector<T>& other, const std::string& name) {
  const T* here = find_link(one, name);
  const T* there = find_link(other, name);
  return here == nullptr ? there == nullptr : there != nullptr && *here == *there;
}

// Whether a link is wanted now as it was before: a change that was then made to it undid a change
// by another program.
bool as_before(const std::string& link, const ethernet::WantedLinks& before,
               const ethernet::WantedLinks& now) {
  const auto on_same_bridge = [&](const std::string& bridge) {
    return same(before.bridges, now.bridges, bridge);
  };
  if (!on_same_bridge(link)) return false;
  for (const auto& ports : {&ethernet::WantedLinks::taps, &ethernet::WantedLinks::uplinks}) {
    if (!same(before.*ports, now.*ports, link)) return false;
    const ethernet::WantedPort* port = find_link(now.*ports, link);
    if (port != nullptr && !on_same_bridge(port->bridge)) return false;
  }
  for (const std::vector<ethernet::WantedOwn>* all : {&before.own, &now.own}) {
    for (const ethernet::WantedOwn& own : *all) {
      if (own.name != link && own.port.name != link) continue;
      if (!same(before.own, now.own, own.name) || !on_same_bridge(own.port.bridge)) return false;
    }
  }
  return true;
}

// Whether another uplink took over in the team that a link belongs to, which moved its ports.
bool has_taken_over(const std::string& link, const ethernet::WantedLinks& links,
                    const std::vector<ethernet::Takeover>& takeovers) {
  return std::ranges::any_of(links.teams, [&](const ethernet::WantedTeam& team) {
    const bool moved =
        std::ranges::find(takeovers, team.name, &ethernet::Takeover::team) != takeovers.end();
    return moved && std::ranges::any_of(team.members, [&link](const auto& member) {
             return std::ranges::find(member.ports, link) != member.ports.end();
           });
  });
}

}  // namespace

SwitchLayout lay_out(const privsep::SwitchPlan& plan, const SwitchBuilderConfig& config,
                     bool vlan_aware) {
  return Layout(plan, config, vlan_aware).run();
}

privsep::SwitchReport SwitchBuilder::make(const privsep::SwitchPlan& plan) {
  // A host without switches needs no right to create a bridge.
  if (!vlan_aware_ && !plan.switches.empty()) {
    const Result<bool> known = ethernet::bridges_filter_vlans(config_.mark);
    if (!known) {
      return {.problem = "cannot create a bridge: " + known.error().message,
              .fault = model::LinkFault::kNoBridges};
    }
    vlan_aware_ = *known;
  }
  SwitchLayout layout = lay_out(plan, config_, vlan_aware_.value_or(false));
  layout.links.known = std::move(last_.known);
  for (ethernet::WantedTeam& team : layout.links.teams) team.last = active_[team.name];
  auto made = ethernet::make_links(config_.mark, layout.links);
  last_.known = std::move(layout.links.known);
  if (!made) return {.problem = "cannot list the interfaces: " + made.error().message};
  std::set<std::string> bad;
  for (const ethernet::LinkProblem& problem : made->problems) {
    if (!problem.no_link) bad.insert(problem.link);
  }
  ipoib_uplinks_.open(layout.uplink_taps, bad, layout.report);
  // A tap has its link when the engine has the tap, which is news of the interface.
  std::erase_if(made->problems, [this](const ethernet::LinkProblem& problem) {
    return problem.no_link && ipoib_uplinks_.is_on_its_way(problem.link);
  });
  sort_in(plan, made->problems, layout);
  for (const ethernet::LinkChange& change : made->changes) {
    if (!made_before_ || !as_before(change.link, last_, layout.links)) continue;
    if (has_taken_over(change.link, layout.links, made->takeovers)) continue;
    layout.report.mended.push_back({.vds = switch_of(change.link, plan, layout),
                                    .interface = change.link,
                                    .text = change.text});
  }
  active_ = std::move(made->active);
  for (privsep::SwitchReport::Switch& vds : layout.report.switches) {
    if (const auto found = active_.find(vds.name); found != active_.end())
      vds.active = found->second;
  }
  made_before_ = true;
  last_ = std::move(layout.links);
  last_.known = std::move(made->known);
  about_ = std::move(made->about);
  roce_ports_.make(plan, layout.report, about_);
  uplink_offloads_.make(plan, layout.report);
  about_.addresses = !config_.management_address.empty();
  addresses_.clear();
  for (const privsep::SwitchPlan::Vmknic& vmknic : plan.vmknics) {
    if (vmknic.ipv4) addresses_.push_back(*vmknic.ipv4);
  }
  layout.report.management = find_management();
  return std::move(layout.report);
}

std::optional<privsep::SwitchReport::Management> SwitchBuilder::find_management() const {
  if (config_.management_address.empty()) return std::nullopt;
  const auto holder = ethernet::find_holder(config_.management_address);
  if (!holder) return std::nullopt;
  return privsep::SwitchReport::Management{
      .interface = holder->link.name,
      .mac = model::parse_mac(holder->link.mac).value_or(model::MacAddress{}),
      .mtu = holder->link.mtu,
      .ipv4 = holder->ipv4};
}

std::string switch_mark(std::string_view state_directory) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : state_directory)
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211u;
  return fmt::format("paravane:{:08x}:", static_cast<std::uint32_t>(hash ^ (hash >> 32)));
}

}  // namespace paravane::keeper
