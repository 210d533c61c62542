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
#include "ethernet/links.h"
#include "ethernet/roce_port.h"

namespace paravane::ethernet {
namespace {

// No switch or VM is named with capitals, so no other link of Paravane has this name; and if
// one is left behind, it does no harm.
std::string probe_name() {
  return fmt::format("pvP{}", ::getpid());
}

// What is done to a link, as an operator reads it: that it cannot be, and that it was.
struct Act {
  const char* wish;
  const char* deed;
};
constexpr Act kRemove{"remove it", "it was no longer needed and was removed"};
constexpr Act kMakeBridge{"create the bridge", "it was missing and was created again"};
constexpr Act kMakeTap{"create the tap",
                       "it was missing and was created again. A VM that was running has no network "
                       "through it until the VM is shut down and started again"};
constexpr Act kMakeUplinkTap{"create the tap", "it was missing and was created again"};
constexpr Act kMakePair{"create it", "it was missing and was created again"};
constexpr Act kSilence{"disable ARP and IPv4 on it",
                       "it answered ARP or accepted IPv4; both were disabled"};
constexpr Act kSetMtu{"set the MTU", "its MTU was wrong and was corrected"};
constexpr Act kBringUp{"bring it up", "it was down and was brought up"};
constexpr Act kAttach{"add it to the bridge", "it was not on its bridge and was added to it"};
constexpr Act kSetVlans{"set its VLANs", "its VLANs were wrong and were corrected"};
constexpr Act kTakeOff{"remove it from the bridge",
                       "it was on the wrong bridge and was removed from it"};
constexpr Act kTakeAddress{"remove its address", "it had a wrong address, which was removed"};
constexpr Act kGiveAddress{"set its address", "its address was missing and was set"};

// Ends the mark of that end of a pair which is on a bridge.
constexpr const char* kPortOfPair = "+";

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
    if (Status seen = look(); !seen) return std::unexpected(seen.error());
    remove_unwanted();
    make_missing();
    if (Status seen = look(); !seen) return std::unexpected(seen.error());
    for (const WantedPort& uplink : wanted_.uplinks) find_uplink(uplink);
    for (const WantedBridge& bridge : wanted_.bridges) adjust_bridge(bridge);
    let_go();
    for (const WantedPort& tap : wanted_.taps) attach_ours(tap);
    for (const WantedOwn& own : wanted_.own) attach_ours(own.port);
    for (const auto& [uplink, nic] : uplinks_) attach_uplink(*uplink, *nic);
    if (Status adjusted = adjust_attached(); !adjusted) return std::unexpected(adjusted.error());
    for (const WantedOwn& own : wanted_.own) adjust_own(own);
    made_.about = news_of_use();
    return std::move(made_);
  }

 private:
  struct Attached {
    const Link* link;  // one of found_
    const WantedPort* wanted;
  };

  Status look() {
    auto found = links_.list();
    if (!found) return std::unexpected(found.error());
    auto addresses = links_.addresses();
    if (!addresses) return std::unexpected(addresses.error());
    addresses_ = std::move(*addresses);
    auto ipv4 = links_.ipv4_addresses();
    if (!ipv4) return std::unexpected(ipv4.error());
    ipv4_ = std::move(*ipv4);
    found_.clear();
    for (Link& link : *found) {
      std::string name = link.name;
      found_.emplace(std::move(name), std::move(link));
    }
    return {};
  }

  Status look_at_vlans() {
    auto vlans = links_.port_vlans();
    // A kernel that filters no VLANs may have none to tell of.
    if (!vlans && vlans.error().code != Errc::kUnsupported) return std::unexpected(vlans.error());
    vlans_ = vlans ? std::move(*vlans) : std::map<int, PortVlans>();
    return {};
  }

  bool is_ours(const Link& link) const {
    // A RoCE port is another's to make and remove.
    if (!link.mark.starts_with(mark_) || link.mark.ends_with(kRocePortEnd)) return false;
    return link.kind == "bridge" || link.kind == "tun" || is_end_of_pair(link);
  }
  // Whose mark has the name of the pair's far end, which a NIC's would not.
  bool is_end_of_pair(const Link& link) const {
    std::string_view pair = std::string_view(link.mark).substr(mark_.size());
    const bool is_port = pair.ends_with(kPortOfPair);
    if (is_port) pair.remove_suffix(1);
    return link.kind == "veth" && (is_port ? link.name.starts_with(pair) : link.name == pair);
  }
  const Link* find(std::string_view name) const {
    const auto found = found_.find(name);
    return found == found_.end() ? nullptr : &found->second;
  }
  const Link* find(int index) const {
    const auto found = std::ranges::find_if(
        found_, [index](const auto& link) { return link.second.index == index; });
    return found == found_.end() ? nullptr : &found->second;
  }
  const WantedBridge* wanted_bridge(std::string_view name) const {
    const auto found = std::ranges::find(wanted_.bridges, name, &WantedBridge::name);
    return found == wanted_.bridges.end() ? nullptr : &*found;
  }

  void complain(const std::string& link, std::string text, bool foreign = false) {
    made_.problems.push_back({.link = link, .text = std::move(text), .foreign = foreign});
  }
  // True: done.
  bool done(const std::string& link, const Act& act, const Status& status) {
    if (status) {
      note(link, act.deed);
    } else {
      complain(link, fmt::format("cannot {}: {}", act.wish, status.error().message));
    }
    return status.has_value();
  }
  // Once for each link: of what is made anew all else is new too.
  void note(const std::string& link, const char* deed) {
    const auto known = std::ranges::find(made_.changes, link, &LinkChange::link);
    if (known == made_.changes.end()) {
      made_.changes.push_back({.link = link, .text = deed});
    } else if (!new_.contains(link)) {
      known->text += fmt::format("; {}", deed);
    }
  }
  // `whose`: the link that the operator is told of.
  void keep_ipv6_off(const std::string& link, const std::string& whose) {
    const Result<bool> was_on = turn_ipv6_off(link);
    if (!was_on) {
      const std::string what = link == whose ? "it" : link;
      complain(whose, fmt::format("cannot disable IPv6 on {}: {}", what, was_on.error().message));
    } else if (*was_on) {
      note(link, "IPv6 was enabled on this interface and has been disabled");
    }
  }

  void remove_unwanted() {
    const Names bridges = names_of(wanted_.bridges);
    const Names taps = names_of(wanted_.taps);
    const Names own = names_of(wanted_.own);
    for (auto it = found_.begin(); it != found_.end();) {
      const Link& link = it->second;
      // The port of a pair goes with its other end.
      bool keep = !is_ours(link) || link.mark.ends_with(kPortOfPair) ||
                  (link.kind == "bridge" ? bridges
                   : link.kind == "tun"  ? taps
                                         : own)
                      .contains(link.name);
      const WantedBridge* bridge = wanted_bridge(link.name);
      // One of the other form, as after a change of the kernel.
      if (is_ours(link) && bridge != nullptr && bridge->vlan_aware != link.filters_vlans) {
        keep = false;
      }
      const bool gone = !keep && done(link.name, kRemove, links_.remove(link.index));
      it = gone ? found_.erase(it) : std::next(it);
    }
  }

  void make_missing() {
    for (const WantedBridge& bridge : wanted_.bridges) {
      if (find(bridge.name) != nullptr) continue;
      const Status made = links_.add_bridge(bridge.name, bridge.vlan_aware);
      if (done(bridge.name, kMakeBridge, made)) sign(bridge.name, bridge.label);
    }
    for (const WantedPort& tap : wanted_.taps) {
      if (find(tap.name) != nullptr) continue;
      const Status made = make_tap(tap.name, tap.is_for_root ? TapAccess{} : wanted_.tap_access);
      const Act& act = tap.is_for_root ? kMakeUplinkTap : kMakeTap;
      if (done(tap.name, act, made)) sign(tap.name, tap.label);
    }
    for (const WantedOwn& own : wanted_.own) {
      if (find(own.name) != nullptr) continue;
      const Status made = links_.add_pair(own.name, own.mac, own.port.name);
      if (!done(own.name, kMakePair, made)) continue;
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
    new_.insert(name);
    const Status signed_now = links_.set_mark(made->index, mark_ + label);
    if (signed_now) {
      // A kernel without IPv6 has no such thing to forbid.
      static_cast<void>(links_.forbid_own_address(made->index));
      return;
    }
    complain(name, "cannot mark it as owned by Paravane: " + signed_now.error().message);
    static_cast<void>(links_.remove(made->index));
  }

  // A link that we made; nullptr: it is not there (which is told), or another's.
  const Link* find_ours(const std::string& name) {
    const Link* link = find(name);
    if (link == nullptr || is_ours(*link)) return link;
    complain(name, "an interface that Paravane did not create has this name. Rename or remove it",
             true);
    return nullptr;
  }

  void adjust_bridge(const WantedBridge& wanted) {
    const Link* bridge = find_ours(wanted.name);
    if (bridge == nullptr) return;
    if (wanted.vlan_aware && !bridge->filters_vlans) {
      complain(wanted.name, "this kernel's bridge does not support VLAN filtering");
      return;
    }
    // Or others would learn this bridge for the addresses of our interfaces on it, and its MAC
    // address changes when a tap comes or goes; and guests would reach all of our addresses.
    if (!bridge->silent) done(wanted.name, kSilence, links_.forbid_ipv4(bridge->index));
    keep_ipv6_off(wanted.name, wanted.name);
    adjust_size_and_state(*bridge, wanted.mtu);
    bridges_[wanted.name] = bridge->index;
  }

  void adjust_size_and_state(const Link& link, std::uint32_t mtu) {
    if (link.mtu != mtu) done(link.name, kSetMtu, links_.set_mtu(link.index, mtu));
    if (!link.up) done(link.name, kBringUp, links_.set_up(link.index));
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
    for (const Ipv4Interface& old : ipv4_[link->index]) {
      if (old == wanted.ipv4) continue;
      done(wanted.name, kTakeAddress, links_.remove_address(link->index, old));
    }
    if (!wanted.ipv4 || std::ranges::count(ipv4_[link->index], *wanted.ipv4) != 0) return;
    if (const auto why = why_not_address(*link, *wanted.ipv4)) return complain(wanted.name, *why);
    done(wanted.name, kGiveAddress, links_.add_address(link->index, *wanted.ipv4));
  }

  // What is sent to a network would take another way than it does now.
  std::optional<std::string> why_not_address(const Link& link, const Ipv4Interface& address) const {
    for (const auto& [index, others] : ipv4_) {
      for (const Ipv4Interface& other : others) {
        if (index == link.index || !other.overlaps(address)) continue;
        const Link* holder = find(index);
        return fmt::format("its network {} is already used by {}, which has {}: no address is set",
                           format_ipv4(address), holder == nullptr ? "another" : holder->name,
                           format_ipv4(other));
      }
    }
    return std::nullopt;
  }

  // To its bridge. Its VLANs follow.
  void attach(const Link& link, const WantedPort& wanted) {
    const auto bridge = bridges_.find(wanted.bridge);
    if (bridge == bridges_.end()) {
      complain(wanted.name, fmt::format("its bridge {} does not exist", wanted.bridge));
      return;
    }
    const bool there = link.master == bridge->second ||
                       done(wanted.name, kAttach, links_.set_master(link.index, bridge->second));
    if (there) attached_.push_back({.link = &link, .wanted = &wanted});
  }

  // What is attached, with VLANs as the kernel has them now, before it is brought up.
  Status adjust_attached() {
    if (Status seen = look_at_vlans(); !seen) return seen;
    for (const Attached& port : attached_) {
      const WantedBridge& bridge = *wanted_bridge(port.wanted->bridge);
      if (bridge.vlan_aware && !adjust_vlans(*port.link, *port.wanted)) continue;
      if (is_ours(*port.link)) {
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
    if (vlans_[link.index] == vlans) return true;
    return done(wanted.name, kSetVlans,
                links_.set_port_vlans(link.index, vlans_[link.index], vlans));
  }

  // By its name, or else by what it was known by when it had that.
  void find_uplink(const WantedPort& wanted) {
    const Link* nic = find(wanted.name);
    if (nic == nullptr) nic = find_renamed(wanted.name);
    if (nic == nullptr) {
      complain(wanted.name,
               "no such NIC on this host. The NIC will be used as soon as it appears. If it was "
               "renamed, set its new name in [network] uplinks of paravaned.toml, restart the "
               "daemon, and run: paravane vds uplink SWITCH NIC");
      return;
    }
    uplinks_.emplace_back(&wanted, nic);
    made_.known[wanted.name] = {
        .index = nic->index, .kind = nic->kind, .mac = nic->mac, .own_mac = nic->own_mac};
    if (nic->name == wanted.name) return;
    complain(wanted.name,
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
    for (const auto& [called, link] : found_) {
      if (names.contains(called) || !is_same_nic(link, known->second)) continue;
      if (only != nullptr) return nullptr;
      only = &link;
    }
    return only;
  }

  // Hardware has an address of its own. What shares another's or has none (VLANs, bonds, veth)
  // is known while it is there, for then the kernel's number is its alone.
  static bool is_same_nic(const Link& link, const NicIdentity& known) {
    if (link.kind != known.kind || link.own_mac != known.own_mac) return false;
    if (link.kind.empty() && !known.own_mac.empty()) return true;
    return link.index == known.index && link.mac == known.mac;
  }

  void attach_uplink(const WantedPort& wanted, const Link& nic) {
    if (const auto why = why_not_uplink(nic)) return complain(wanted.name, *why);
    attach(nic, wanted);
  }

  // Its MTU and its addresses are its owner's.
  void adjust_uplink(const Link& nic, const WantedPort& wanted) {
    if (!nic.up) done(wanted.name, kBringUp, links_.set_up(nic.index));
    const std::uint32_t mtu = wanted_bridge(wanted.bridge)->mtu;
    if (nic.mtu < mtu) {
      complain(wanted.name, fmt::format("its MTU is {}, but the switch's is {}: longer frames are "
                                        "dropped. Set it with: ip link set {} mtu {}",
                                        nic.mtu, mtu, nic.name, mtu));
    }
    if (const auto own = addresses_.find(nic.index); own != addresses_.end()) {
      complain(
          wanted.name,
          fmt::format(
              "it has this host's address {}, which is unreachable while the NIC is in a switch",
              fmt::join(own->second, ", ")));
    }
  }

  std::optional<std::string> why_not_uplink(const Link& nic) const {
    if (nic.loopback || !nic.ethernet) return "it is not an Ethernet interface";
    if (nic.kind == "bridge") return "it is a bridge";
    if (is_ours(nic)) return "it was created by Paravane";
    if (nic.master == 0) return std::nullopt;
    const Link* master = find(nic.master);
    if (master != nullptr && is_ours(*master)) return std::nullopt;
    return fmt::format("it belongs to {}, which Paravane does not manage",
                       master == nullptr ? "something" : master->name);
  }

  // NICs on our bridges that are no longer to be there.
  void let_go() {
    for (const auto& [name, link] : found_) {
      const bool wanted = std::ranges::any_of(
          uplinks_, [index = link.index](const auto& one) { return one.second->index == index; });
      if (link.master == 0 || is_ours(link) || wanted) continue;
      const Link* master = find(link.master);
      if (master == nullptr || !is_ours(*master)) continue;
      if (std::ranges::find(wanted_.given, name) != wanted_.given.end()) {
        done(name, kTakeOff, links_.set_master(link.index, 0));
      } else {
        complain(master->name,
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
    for (const auto& [name, link] : found_) {
      if (is_ours(link) || filter.names.contains(name)) filter.links.insert(link.index);
    }
    for (const auto& [wanted, nic] : uplinks_) filter.links.insert(nic->index);
    return filter;
  }

  Links& links_;
  const std::string& mark_;
  const WantedLinks& wanted_;
  std::map<std::string, Link, std::less<>> found_;
  std::map<int, PortVlans> vlans_;
  std::map<int, std::vector<std::string>> addresses_;
  std::map<int, std::vector<Ipv4Interface>> ipv4_;
  std::map<std::string, int> bridges_;  // those that are good, by name
  std::vector<Attached> attached_;
  std::vector<std::pair<const WantedPort*, const Link*>> uplinks_;  // those that are there
  Names new_;                                                       // made by us just now
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
