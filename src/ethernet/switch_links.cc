#include "ethernet/switch_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ethernet/ipv6_off.h"
#include "ethernet/known_nics.h"
#include "ethernet/link_report.h"
#include "ethernet/links.h"
#include "ethernet/seen_links.h"
#include "ethernet/team_links.h"

namespace paravane::ethernet {
namespace {

// No switch or VM is named with capitals, so no other link of Paravane has this name; and if
// one is left behind, it does no harm.
std::string probe_name() {
  return fmt::format("pvP{}", ::getpid());
}

constexpr LinkAct kRemove{"remove it", "it was no longer needed and was removed"};
constexpr LinkAct kMakeBridge{"create the bridge", "it was missing and was created again"};
constexpr LinkAct kMakeTap{
    "create the tap",
    "it was missing and was created again. A VM that was running has no network "
    "through it until the VM is shut down and started again"};
constexpr LinkAct kMakeUplinkTap{"create the tap", "it was missing and was created again"};
constexpr LinkAct kMakePair{"create it", "it was missing and was created again"};
constexpr LinkAct kSilence{"disable ARP and IPv4 on it",
                           "it answered ARP or accepted IPv4; both were disabled"};
constexpr LinkAct kSetMtu{"set the MTU", "its MTU was wrong and was corrected"};
constexpr LinkAct kBringDown{"bring it down", "it was up and was brought down"};
constexpr LinkAct kBringUp{"bring it up", "it was down and was brought up"};
constexpr LinkAct kAttach{"add it to the bridge", "it was not on its bridge and was added to it"};
constexpr LinkAct kSetVlans{"set its VLANs", "its VLANs were wrong and were corrected"};
constexpr LinkAct kTakeOff{"remove it from the bridge",
                           "it was on the wrong bridge and was removed from it"};
constexpr LinkAct kTakeAddress{"remove its address", "it had a wrong address, which was removed"};
constexpr LinkAct kGiveAddress{"set its address", "its address was missing and was set"};

using Names = std::set<std::string, std::less<>>;

template <typename T>
Names names_of(const std::vector<T>& wanted) {
  Names names;
  for (const T& one : wanted) names.insert(one.name);
  return names;
}

class Making {
 public:
  Making(Links& links, const std::string& mark, const WantedLinks& wanted)
      : links_(links), mark_(mark), wanted_(wanted) {}

  Result<MadeLinks> run() {
    if (Status seen = seen_.look(); !seen) return std::unexpected(seen.error());
    remove_unwanted();
    make_missing();
    if (Status seen = seen_.look(); !seen) return std::unexpected(seen.error());
    for (const WantedPort& uplink : wanted_.uplinks) find_uplink(uplink);
    for (const WantedBridge& bridge : wanted_.bridges) adjust_bridge(bridge);
    let_go();
    teams_.choose(made_, report_);
    teams_.look_for_links(report_);
    // First, so that no two uplinks of a team are ever on a bridge together.
    attach_ports(true);
    for (const Takeover& takeover : made_.takeovers) teams_.announce(takeover, links_, report_);
    attach_ports(false);
    for (const WantedOwn& own : wanted_.own) attach_ours(own.port);
    if (Status adjusted = adjust_attached(); !adjusted) return std::unexpected(adjusted.error());
    for (const WantedOwn& own : wanted_.own) adjust_own(own);
    made_.about = news_of_use();
    made_.problems = report_.take_problems();
    made_.changes = report_.take_changes();
    return std::move(made_);
  }

 private:
  struct Attached {
    const Link* link;  // one of seen_
    const WantedPort* wanted;
  };

  const WantedBridge* wanted_bridge(std::string_view name) const {
    const auto found = std::ranges::find(wanted_.bridges, name, &WantedBridge::name);
    return found == wanted_.bridges.end() ? nullptr : &*found;
  }

  // `whose`: the link that the operator is told of.
  void keep_ipv6_off(const std::string& link, const std::string& whose) {
    const Result<bool> was_on = turn_ipv6_off(link);
    if (!was_on) {
      const std::string what = link == whose ? "it" : link;
      report_.complain(whose,
                       fmt::format("cannot disable IPv6 on {}: {}", what, was_on.error().message));
    } else if (*was_on) {
      report_.note(link, "IPv6 was enabled on this interface and has been disabled");
    }
  }

  void remove_unwanted() {
    const Names bridges = names_of(wanted_.bridges);
    const Names taps = names_of(wanted_.taps);
    const Names own = names_of(wanted_.own);
    for (auto it = seen_.all().begin(); it != seen_.all().end();) {
      const Link& link = it->second;
      // The port of a pair goes with its other end.
      bool keep = !seen_.is_ours(link) || link.mark.ends_with(kPortOfPair) ||
                  (link.kind == "bridge" ? bridges
                   : link.kind == "tun"  ? taps
                                         : own)
                      .contains(link.name);
      const WantedBridge* bridge = wanted_bridge(link.name);
      // One of the other form, as after a change of the kernel.
      if (seen_.is_ours(link) && bridge != nullptr && bridge->vlan_aware != link.filters_vlans) {
        keep = false;
      }
      const bool gone = !keep && report_.done(link.name, kRemove, links_.remove(link.index));
      it = gone ? seen_.forget(it) : std::next(it);
    }
  }

  void make_missing() {
    for (const WantedBridge& bridge : wanted_.bridges) {
      if (seen_.find(bridge.name) != nullptr) continue;
      const Status made = links_.add_bridge(bridge.name, bridge.vlan_aware);
      if (report_.done(bridge.name, kMakeBridge, made)) sign(bridge.name, bridge.label);
    }
    for (const WantedPort& tap : wanted_.taps) {
      if (seen_.find(tap.name) != nullptr) continue;
      const Status made = make_tap(tap.name, tap.is_for_root ? TapAccess{} : wanted_.tap_access);
      const LinkAct& act = tap.is_for_root ? kMakeUplinkTap : kMakeTap;
      if (report_.done(tap.name, act, made)) sign(tap.name, tap.label);
    }
    for (const WantedOwn& own : wanted_.own) {
      if (seen_.find(own.name) != nullptr) continue;
      const Status made = links_.add_pair(own.name, own.mac, own.port.name);
      if (!report_.done(own.name, kMakePair, made)) continue;
      sign(own.port.name, own.port.label + kPortOfPair);
      sign(own.name, own.port.label);
    }
  }

  // Marks a link that was just created. Without the mark it would not be recognized.
  void sign(const std::string& name, const std::string& label) {
    const auto all = links_.list();
    if (!all) return;
    const auto made = std::ranges::find(*all, name, &Link::name);
    if (made == all->end()) return;
    report_.set_new(name);
    const Status signed_now = links_.set_mark(made->index, mark_ + label);
    if (signed_now) {
      // A kernel without IPv6 has no such thing to forbid.
      static_cast<void>(links_.forbid_own_address(made->index));
      return;
    }
    report_.complain(name, "cannot mark it as owned by Paravane: " + signed_now.error().message);
    static_cast<void>(links_.remove(made->index));
  }

  // A link that we made; nullptr: it is not there (which is told), or another's.
  const Link* find_ours(const std::string& name) {
    const Link* link = seen_.find(name);
    if (link == nullptr || seen_.is_ours(*link)) return link;
    report_.complain(
        name, "an interface that Paravane did not create has this name. Rename or remove it", true);
    return nullptr;
  }

  void adjust_bridge(const WantedBridge& wanted) {
    const Link* bridge = find_ours(wanted.name);
    if (bridge == nullptr) return;
    if (wanted.vlan_aware && !bridge->filters_vlans) {
      report_.complain(wanted.name, "this kernel's bridge does not support VLAN filtering");
      return;
    }
    // Or others would learn this bridge for the addresses of our interfaces on it, and its MAC
    // address changes when a tap comes or goes; and guests would reach all of our addresses.
    if (!bridge->silent) report_.done(wanted.name, kSilence, links_.forbid_ipv4(bridge->index));
    keep_ipv6_off(wanted.name, wanted.name);
    if (!wanted.is_parking) {
      adjust_size_and_state(*bridge, wanted.mtu);
    } else if (bridge->up) {
      report_.done(wanted.name, kBringDown, links_.set_down(bridge->index));
    }
    bridges_[wanted.name] = bridge->index;
  }

  void adjust_size_and_state(const Link& link, std::uint32_t mtu) {
    if (link.mtu != mtu) report_.done(link.name, kSetMtu, links_.set_mtu(link.index, mtu));
    if (!link.up) report_.done(link.name, kBringUp, links_.set_up(link.index));
  }

  void attach_ours(const WantedPort& wanted) {
    if (const Link* port = find_ours(wanted.name)) attach(*port, wanted);
  }

  void adjust_own(const WantedOwn& wanted) {
    const Link* link = find_ours(wanted.name);
    const WantedBridge* bridge = wanted_bridge(wanted.port.bridge);
    if (link == nullptr || bridge == nullptr) return;
    // Told as the bridge's: what is on it may reach this host, and the interface is of use.
    keep_ipv6_off(wanted.name, bridge->name);
    adjust_size_and_state(*link, bridge->mtu);
    for (const Ipv4Interface& old : seen_.ipv4(link->index)) {
      if (old == wanted.ipv4) continue;
      report_.done(wanted.name, kTakeAddress, links_.remove_address(link->index, old));
    }
    if (!wanted.ipv4 || std::ranges::count(seen_.ipv4(link->index), *wanted.ipv4) != 0) return;
    if (const auto why = seen_.why_not_address(*link, *wanted.ipv4))
      return report_.complain(wanted.name, *why);
    report_.done(wanted.name, kGiveAddress, links_.add_address(link->index, *wanted.ipv4));
  }

  // Those that stand by, or those that do not.
  void attach_ports(bool parked) {
    for (const WantedPort& tap : wanted_.taps) {
      if (teams_.is_parked(tap) == parked) attach_ours(tap);
    }
    for (const auto& [uplink, nic] : uplinks_) {
      if (teams_.is_parked(*uplink) == parked) attach_uplink(*uplink, *nic);
    }
  }

  // To its bridge. Its VLANs follow.
  void attach(const Link& link, const WantedPort& wanted) {
    const auto bridge = bridges_.find(teams_.bridge_of(wanted));
    if (!teams_.is_parked(wanted) && teams_.is_in_the_way(wanted)) return;
    if (bridge == bridges_.end()) {
      report_.complain(wanted.name,
                       fmt::format("its bridge {} does not exist", teams_.bridge_of(wanted)));
    } else if (link.master == bridge->second ||
               report_.done(wanted.name, kAttach, links_.set_master(link.index, bridge->second))) {
      attached_.push_back({.link = &link, .wanted = &wanted});
      return;
    }
    if (!teams_.is_parked(wanted) || !teams_.is_on(link, wanted.bridge)) return;
    teams_.set_stuck(wanted);
    report_.complain(wanted.name, "it stays on the bridge, so no other uplink of the team is used");
  }

  // What is attached, with VLANs as the kernel has them now, before it is brought up.
  Status adjust_attached() {
    if (Status seen = seen_.look_at_vlans(); !seen) return seen;
    for (const Attached& port : attached_) {
      const WantedBridge& bridge = *wanted_bridge(teams_.bridge_of(*port.wanted));
      if (bridge.vlan_aware && !adjust_vlans(*port.link, *port.wanted)) continue;
      if (seen_.is_ours(*port.link)) {
        adjust_size_and_state(*port.link, bridge.mtu);
      } else {
        adjust_uplink(*port.link, *port.wanted);
      }
    }
    return {};
  }

  bool adjust_vlans(const Link& link, const WantedPort& wanted) {
    PortVlans vlans{.pvid = wanted.untagged, .untagged_by_vid = {}};
    for (const std::uint16_t vid : wanted.tagged) vlans.untagged_by_vid[vid] = false;
    if (wanted.untagged != 0) vlans.untagged_by_vid[wanted.untagged] = true;
    const PortVlans now = seen_.vlans(link.index);
    if (now == vlans) return true;
    return report_.done(wanted.name, kSetVlans, links_.set_port_vlans(link.index, now, vlans));
  }

  // By its name, or else by what it was known by when it had that.
  void find_uplink(const WantedPort& wanted) {
    const Link* nic = seen_.find(wanted.name);
    if (nic == nullptr) nic = find_renamed(wanted.name);
    if (nic == nullptr) {
      report_.complain(
          wanted.name,
          "no such NIC on this host. The NIC will be used as soon as it appears. If it was "
          "renamed, set its new name in [network] uplinks of paravaned.toml, restart the "
          "daemon, and run: paravane vds uplink SWITCH NIC");
      return;
    }
    uplinks_.push_back({.wanted = &wanted, .nic = nic});
    made_.known[wanted.name] = identity_of(*nic);
    if (nic->name == wanted.name) return;
    report_.complain(
        wanted.name,
        fmt::format("it was renamed to {}, and is used under that name until the daemon "
                    "stops. Set {} in [network] uplinks of paravaned.toml, restart the "
                    "daemon, and run: paravane vds uplink SWITCH {}",
                    nic->name, nic->name, nic->name));
  }

  // The one NIC that it can be; nullptr: there is none, or more than one.
  const Link* find_renamed(const std::string& name) {
    const auto known = wanted_.known.find(name);
    if (known == wanted_.known.end()) return nullptr;
    made_.known[name] = known->second;
    const Names names = names_of(wanted_.uplinks);
    const Link* only = nullptr;
    for (const auto& [called, link] : seen_.all()) {
      if (names.contains(called) || !is_same_nic(link, known->second)) continue;
      if (only != nullptr) return nullptr;
      only = &link;
    }
    return only;
  }

  void attach_uplink(const WantedPort& wanted, const Link& nic) {
    if (const auto why = seen_.why_not_uplink(nic)) return report_.complain(wanted.name, *why);
    attach(nic, wanted);
  }

  // Its MTU and its addresses are its owner's.
  void adjust_uplink(const Link& nic, const WantedPort& wanted) {
    if (!nic.up) report_.done(wanted.name, kBringUp, links_.set_up(nic.index));
    const std::uint32_t mtu = wanted_bridge(wanted.bridge)->mtu;
    if (nic.mtu < mtu) {
      report_.complain(wanted.name,
                       fmt::format("its MTU is {}, but the switch's is {}: longer frames are "
                                   "dropped. Set it with: ip link set {} mtu {}",
                                   nic.mtu, mtu, nic.name, mtu));
    }
    if (const auto own = seen_.addresses(nic.index); !own.empty()) {
      report_.complain(
          wanted.name,
          fmt::format(
              "it has this host's address {}, which is unreachable while the NIC is in a switch",
              fmt::join(own, ", ")));
    }
  }

  // NICs on our bridges that are no longer to be there.
  void let_go() {
    for (const auto& [name, link] : seen_.all()) {
      const bool wanted = std::ranges::any_of(
          uplinks_, [index = link.index](const auto& one) { return one.nic->index == index; });
      if (link.master == 0 || seen_.is_ours(link) || wanted) continue;
      const Link* master = seen_.find(link.master);
      if (master == nullptr || !seen_.is_ours(*master)) continue;
      if (std::ranges::find(wanted_.given, name) != wanted_.given.end()) {
        report_.done(name, kTakeOff, links_.set_master(link.index, 0));
      } else {
        report_.complain(
            master->name,
            fmt::format("{} is on this bridge, but was not added by Paravane. Remove it "
                        "with: ip link set {} nomaster",
                        name, name));
      }
    }
  }

  // What is here and what is missed.
  LinkFilter news_of_use() const {
    LinkFilter filter;
    const auto add_names = [&filter](const auto& wanted) {
      for (const auto& one : wanted) filter.names.insert(one.name);
    };
    add_names(wanted_.bridges);
    add_names(wanted_.taps);
    add_names(wanted_.own);
    for (const WantedOwn& own : wanted_.own) filter.names.insert(own.port.name);
    filter.names.insert(wanted_.given.begin(), wanted_.given.end());
    filter.strangers = uplinks_.size() < wanted_.uplinks.size();
    for (const auto& [name, link] : seen_.all()) {
      if (seen_.is_ours(link) || filter.names.contains(name)) filter.links.insert(link.index);
    }
    for (const auto& [wanted, nic] : uplinks_) filter.links.insert(nic->index);
    return filter;
  }

  Links& links_;
  const std::string& mark_;
  const WantedLinks& wanted_;
  SeenLinks seen_{links_, mark_};
  LinkReport report_;
  BridgeIndexes bridges_;
  std::vector<FoundUplink> uplinks_;
  TeamLinks teams_{wanted_, seen_, uplinks_, bridges_};
  std::vector<Attached> attached_;
  MadeLinks made_;
};

}  // namespace

Result<bool> bridges_filter_vlans(const std::string& mark) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  const std::string name = probe_name();
  const Status made = links->add_bridge(name, true);
  if (!made && made.error().code == Errc::kUnsupported) return false;
  if (!made) return std::unexpected(made.error());
  const auto all = links->list();
  if (!all) return std::unexpected(all.error());
  const auto probe = std::ranges::find(*all, name, &Link::name);
  if (probe == all->end()) return fail(Errc::kIo, "a newly created bridge disappeared");
  const bool filters = probe->filters_vlans;
  // If this fails the next call finds it.
  static_cast<void>(links->set_mark(probe->index, mark + "probe"));
  if (Status gone = links->remove(probe->index); !gone) return std::unexpected(gone.error());
  return filters;
}

Result<MadeLinks> make_links(const std::string& mark, const WantedLinks& wanted) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  return Making(*links, mark, wanted).run();
}

}  // namespace paravane::ethernet
