#include "ethernet/roce_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ethernet/link_upkeep.h"
#include "ethernet/links.h"
#include "ethernet/merging_pair.h"
#include "ethernet/roce_rules.h"
#include "ethernet/tap.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {
namespace {

constexpr std::size_t kMaxName = 15;            // IFNAMSIZ without its end
constexpr std::uint32_t kWaitingFrames = 8192;  // a reader that is late loses those beyond
constexpr UpkeepAct kMakePort{"it is missing", "create the tap",
                              "it was missing and was created again"};
constexpr UpkeepAct kNoRules{"it has rules for RoCE frames that are not needed",
                             "remove its rules for RoCE frames",
                             "its rules for RoCE frames were no longer needed and were removed"};
constexpr UpkeepAct kNoPair{"it has a merging pair that is not needed", "remove its merging pair",
                            "its merging pair was no longer needed and was removed"};

bool is_port(const Link& link, const std::string& mark) {
  return link.kind == "tun" && link.mark.starts_with(mark) && link.mark.ends_with(kRocePortEnd);
}

bool is_guest_tap(const Link& link, const std::string& mark) {
  return link.kind == "tun" && link.mark.starts_with(mark) && !link.mark.ends_with(kRocePortEnd);
}

std::string alias_of(const std::string& mark, const std::string& guest_tap) {
  return fmt::format("{}{}{}", mark, guest_tap, kRocePortEnd);
}

Result<std::optional<Link>> find_link(Links& links, const std::string& name) {
  auto all = links.list();
  if (!all) return std::unexpected(all.error());
  const auto found = std::ranges::find(*all, name, &Link::name);
  return found == all->end() ? std::nullopt : std::optional(std::move(*found));
}

// Of all three, the first that cannot be had is the error.
struct Tools {
  Links links;
  TrafficRules rules;
};
Result<Tools> open_tools() {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  auto rules = TrafficRules::open();
  if (!rules) return std::unexpected(rules.error());
  return Tools{.links = std::move(*links), .rules = std::move(*rules)};
}

// One look at a port and the guest's tap. `mends` false: nothing is changed, and what would be is a
// problem.
class PortLook {
 public:
  PortLook(Tools& tools, const std::string& mark, const WantedRocePort& wanted, bool mends)
      : links_(tools.links),
        rules_(tools.rules),
        mark_(mark),
        wanted_(wanted),
        alias_(alias_of(mark, wanted.guest_tap)),
        port_upkeep_(links_, rules_, mends),
        pair_upkeep_(links_, rules_, mends) {}

  Result<MadeRocePort> run() {
    for (const std::string& name : names()) {
      if (!name.empty() && name.size() <= kMaxName) continue;
      return fail(Errc::kInvalidArgument, fmt::format("{}: no name for an interface", name));
    }
    auto port = find_link(links_, wanted_.name);
    if (!port) return std::unexpected(port.error());
    auto guest_tap = find_link(links_, wanted_.guest_tap);
    if (!guest_tap) return std::unexpected(guest_tap.error());
    if (!*port) *port = make_port();
    const Link* guest = find_guest_tap(*guest_tap);
    const bool good = *port && adjust_port(**port, guest == nullptr ? 0 : guest->index);
    // A port that is not whole gets nothing: the frames stay the guest's.
    RoceWays ways{.port = good ? (*port)->index : 0};
    if (good) keep_pair(ways);
    const bool told = !*port && !port_upkeep_.mends();
    if (guest != nullptr && !told) tie_guest(guest->index, ways);
    if (wanted_.merges == Merges::kNothing) remove_pair();
    return finish(*port ? (*port)->index : 0, guest == nullptr ? 0 : guest->index);
  }

 private:
  // Of all interfaces but the guest's.
  std::vector<std::string> names() const {
    if (wanted_.merges == Merges::kNothing) return {wanted_.name};
    return {wanted_.name, wanted_.merging_end, wanted_.filling_end};
  }
  void complain(const std::string& link, std::string text, bool foreign = false) {
    port_upkeep_.complain(link, std::move(text), foreign);
  }
  template <typename Deed>
  bool act(const std::string& link, const UpkeepAct& act, const Deed& deed) {
    return port_upkeep_.act(link, act, deed);
  }

  MadeRocePort finish(int port, int guest) {
    MadeRocePort made;
    made.problems = port_upkeep_.problems();
    made.changes = port_upkeep_.changes();
    const std::vector<LinkProblem>& unmerged = pair_upkeep_.problems();
    if (!port_upkeep_.mends()) {
      made.problems.insert(made.problems.end(), unmerged.begin(), unmerged.end());
    } else if (!unmerged.empty()) {
      made.unmerged = fmt::format("{}: {}", unmerged.front().link, unmerged.front().text);
    }
    const std::vector<LinkChange>& changes = pair_upkeep_.changes();
    made.changes.insert(made.changes.end(), changes.begin(), changes.end());
    for (const std::string& name : names()) made.about.names.insert(name);
    made.about.names.insert(wanted_.guest_tap);
    for (const int link : {port, guest}) {
      if (link != 0) made.about.links.insert(link);
    }
    if (const auto all = links_.list()) {
      for (const Link& link : *all) {
        if (is_merging_end(link, alias_)) made.about.links.insert(link.index);
      }
    }
    return made;
  }

  // nullopt: it was not made, which is told.
  std::optional<Link> make_port() {
    const bool made =
        act(wanted_.name, kMakePort, [this] { return make_tap(wanted_.name, TapAccess{}); });
    if (!made || !port_upkeep_.mends()) return std::nullopt;
    port_upkeep_.is_new(wanted_.name);
    auto port = find_link(links_, wanted_.name);
    if (!port || !*port) {
      complain(wanted_.name, "it disappeared as soon as it was created");
      return std::nullopt;
    }
    if (!act(wanted_.name, kSign, [&] { return links_.set_mark((*port)->index, alias_); })) {
      static_cast<void>(links_.remove((*port)->index));
      return std::nullopt;
    }
    (*port)->mark = alias_;
    // A kernel without IPv6 has no such thing to forbid.
    static_cast<void>(links_.forbid_own_address((*port)->index));
    return std::move(*port);
  }

  // nullptr: it is not there, or another's, which is told.
  const Link* find_guest_tap(const std::optional<Link>& found) {
    if (!found) {
      complain(wanted_.guest_tap, "it does not exist");
    } else if (!is_guest_tap(*found, mark_)) {
      complain(wanted_.guest_tap, kForeignLink, true);
    } else {
      return &*found;
    }
    return nullptr;
  }

  // True: frames may come to it.
  bool adjust_port(const Link& port, int guest_tap) {
    if (!is_port(port, mark_)) {
      complain(wanted_.name, kForeignLink, true);
      return false;
    }
    // Frames of the engine reach this host only if the rules are removed, and find nothing then.
    port_upkeep_.keep_quiet(port,
                            {.alias = alias_, .mtu = wanted_.mtu, .queue_length = kWaitingFrames});
    return port_upkeep_.keep_rules(port, rules_of_port(wanted_.mac, guest_tap)) &&
           port_upkeep_.keep_up(port);
  }

  void keep_pair(RoceWays& ways) {
    if (wanted_.merges == Merges::kNothing) return;
    ways.merging_end = keep_merging_pair(links_, pair_upkeep_,
                                         {.merging = wanted_.merging_end,
                                          .filling = wanted_.filling_end,
                                          .alias = alias_,
                                          .mac = wanted_.mac,
                                          .mtu = wanted_.mtu,
                                          .port = ways.port});
    ways.merges = wanted_.merges;
  }

  // Of an earlier daemon. Nothing comes to it any more.
  void remove_pair() {
    const auto all = links_.list();
    if (!all || std::ranges::none_of(*all, [this](const Link& link) {
          return link.kind == "veth" && link.mark == alias_;
        })) {
      return;
    }
    act(wanted_.name, kNoPair, [this] { return remove_merging_pairs(links_, alias_); });
  }

  // If there is no port, none can take the frames.
  void tie_guest(int guest_tap, const RoceWays& ways) {
    std::vector<TrafficRule> wanted;
    if (ways.port != 0) wanted = rules_to_guest(wanted_.mac, ways);
    const auto hook = rules_.hook(guest_tap);
    const auto found = rules_.list(guest_tap, Direction::kSent);
    if (!hook || !found) return complain(wanted_.guest_tap, "cannot list its rules for frames");
    const RuleDifference difference = compare(*found, wanted);
    if (is_place_taken(difference.foreign, wanted)) return;
    for (const TrafficRule& rule : difference.unwanted) {
      act(wanted_.guest_tap, kNoRules,
          [&] { return rules_.remove(guest_tap, Direction::kSent, rule); });
    }
    if (difference.missing.empty()) return;
    if (!hook->empty() && *hook != "clsact") {
      return complain(
          wanted_.guest_tap,
          fmt::format("another program has added a queueing discipline {0} to it, which "
                      "leaves no room for rules for RoCE frames. Remove it with: tc "
                      "qdisc del dev {1} {0}",
                      *hook, wanted_.guest_tap));
    }
    const bool none = difference.missing.size() == wanted.size();
    act(wanted_.guest_tap, none ? kHook : kRules, [&] {
      Status done = hook->empty() ? rules_.add_hook(guest_tap) : Status();
      for (std::size_t i = 0; done && i < difference.missing.size(); ++i) {
        done = rules_.set(guest_tap, Direction::kSent, difference.missing[i]);
      }
      return done;
    });
  }

  // Whether another program's rule is where one of ours must be.
  bool is_place_taken(const std::vector<ListedRule>& foreign,
                      const std::vector<TrafficRule>& wanted) {
    for (const ListedRule& listed : foreign) {
      const std::uint16_t preference = listed.rule.preference;
      if (std::ranges::find(wanted, preference, &TrafficRule::preference) == wanted.end()) continue;
      complain(wanted_.guest_tap,
               fmt::format("another program's rule has the preference {0}, which rules for RoCE "
                           "frames need. Remove it with: tc filter del dev {1} egress pref {0}",
                           preference, wanted_.guest_tap));
      return true;
    }
    return false;
  }

  Links& links_;
  TrafficRules& rules_;
  const std::string& mark_;
  const WantedRocePort& wanted_;
  const std::string alias_;
  LinkUpkeep port_upkeep_;  // the guest's tap too
  LinkUpkeep pair_upkeep_;
};

// Our rules of the guest's tap, and its hook if no other program uses it.
Status untie(TrafficRules& rules, int guest_tap) {
  const auto found = rules.list(guest_tap, Direction::kSent);
  if (!found) return std::unexpected(found.error());
  const RuleDifference difference = compare(*found, {});
  for (const TrafficRule& rule : difference.unwanted) {
    if (Status gone = rules.remove(guest_tap, Direction::kSent, rule); !gone) return gone;
  }
  if (difference.unwanted.empty() || !difference.foreign.empty()) return {};
  const auto others = rules.list(guest_tap, Direction::kReceived);
  if (!others) return std::unexpected(others.error());
  return others->empty() ? rules.remove_hook(guest_tap) : Status();
}

// Errors: kNotFound, kBadState, kIo.
Result<Link> find_port(Links& links, const std::string& mark, const std::string& name) {
  auto found = find_link(links, name);
  if (!found) return std::unexpected(found.error());
  if (!*found) return fail(Errc::kNotFound, name + ": no such interface");
  if (!is_port(**found, mark))
    return fail(Errc::kBadState, fmt::format("{}: {}", name, kForeignLink));
  return std::move(**found);
}

}  // namespace

Result<MadeRocePort> ensure_roce_port(const std::string& mark, const WantedRocePort& wanted) {
  auto tools = open_tools();
  if (!tools) return std::unexpected(tools.error());
  return PortLook(*tools, mark, wanted, true).run();
}

Result<std::vector<LinkProblem>> check_roce_port(const std::string& mark,
                                                 const WantedRocePort& wanted) {
  auto tools = open_tools();
  if (!tools) return std::unexpected(tools.error());
  auto seen = PortLook(*tools, mark, wanted, false).run();
  if (!seen) return std::unexpected(seen.error());
  return std::move(seen->problems);
}

Status remove_roce_port(const std::string& mark, const std::string& name,
                        const std::string& guest_tap) {
  auto tools = open_tools();
  if (!tools) return std::unexpected(tools.error());
  const auto guest = find_link(tools->links, guest_tap);
  if (!guest) return std::unexpected(guest.error());
  if (*guest && is_guest_tap(**guest, mark)) {
    if (Status untied = untie(tools->rules, (*guest)->index); !untied) return untied;
  }
  if (Status gone = remove_merging_pairs(tools->links, alias_of(mark, guest_tap)); !gone)
    return gone;
  const auto port = find_link(tools->links, name);
  if (!port) return std::unexpected(port.error());
  if (!*port || !is_port(**port, mark)) return {};
  return tools->links.remove((*port)->index);
}

Result<std::vector<RocePortName>> list_roce_ports(const std::string& mark) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  const auto all = links->list();
  if (!all) return std::unexpected(all.error());
  std::vector<RocePortName> ports;
  const auto guest_tap_of = [&mark](const Link& link) {
    return link.mark.substr(mark.size(), link.mark.size() - mark.size() - kRocePortEnd.size());
  };
  for (const Link& link : *all) {
    if (is_port(link, mark)) ports.push_back({.name = link.name, .guest_tap = guest_tap_of(link)});
  }
  for (const Link& link : *all) {
    if (!is_merging_end(link, mark)) continue;
    std::string guest_tap = guest_tap_of(link);
    const auto port = std::ranges::find(ports, guest_tap, &RocePortName::guest_tap);
    if (port == ports.end()) ports.push_back({.name = {}, .guest_tap = std::move(guest_tap)});
  }
  return ports;
}

Result<OpenTap> open_roce_port(const std::string& mark, const std::string& name) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  const auto port = find_port(*links, mark, name);
  if (!port) return std::unexpected(port.error());
  return open_offload_tap(name);
}

Result<std::uint64_t> refused_frames(const std::string& mark, const std::string& name) {
  auto tools = open_tools();
  if (!tools) return std::unexpected(tools.error());
  const auto port = find_port(tools->links, mark, name);
  if (!port) return std::unexpected(port.error());
  return tools->rules.dropped(port->index);
}

}  // namespace paravane::ethernet
