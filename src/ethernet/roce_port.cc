#include "ethernet/roce_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ethernet/ipv6_off.h"
#include "ethernet/links.h"
#include "ethernet/roce_rules.h"
#include "ethernet/tap.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {
namespace {

constexpr std::size_t kMaxName = 15;            // IFNAMSIZ without its end
constexpr std::uint32_t kWaitingFrames = 8192;  // a reader that is late loses those beyond
constexpr const char* kForeign =
    "an interface that Paravane did not create has this name. Rename or remove it";

// What is done to an interface: how it is before, that it cannot be done, and that it was.
struct PortAct {
  const char* state;
  const char* wish;
  const char* deed;
};
constexpr PortAct kMakePort{"it is missing", "create the tap",
                            "it was missing and was created again"};
constexpr PortAct kSignPort{"its alias is wrong", "mark it as owned by Paravane",
                            "its alias was wrong and was corrected"};
constexpr PortAct kFreePort{"it is on a bridge", "remove it from the bridge",
                            "it was on a bridge and was removed from it"};
constexpr PortAct kClearPort{"it has an address", "remove its address",
                             "it had an address, which was removed"};
constexpr PortAct kSilencePort{"it answers ARP or accepts IPv4", "disable ARP and IPv4 on it",
                               "it answered ARP or accepted IPv4; both were disabled"};
constexpr PortAct kSilenceIpv6{"IPv6 is enabled on it", "disable IPv6 on it",
                               "IPv6 was enabled on this interface and has been disabled"};
constexpr PortAct kSizePort{"its MTU is wrong", "set the MTU",
                            "its MTU was wrong and was corrected"};
constexpr PortAct kQueuePort{"its queue length is wrong", "set its queue length",
                             "its queue length was wrong and was corrected"};
constexpr PortAct kRaisePort{"it is down", "bring it up", "it was down and was brought up"};
constexpr PortAct kHook{"it has no rules for RoCE frames", "add rules for RoCE frames",
                        "its rules for RoCE frames were missing and were created again"};
constexpr PortAct kRules{"its rules for RoCE frames are wrong", "set its rules for RoCE frames",
                         "its rules for RoCE frames were wrong and were corrected"};
constexpr PortAct kNoRules{"it has rules for RoCE frames that are not needed",
                           "remove its rules for RoCE frames",
                           "its rules for RoCE frames were no longer needed and were removed"};

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
      : links_(tools.links), rules_(tools.rules), mark_(mark), wanted_(wanted), mends_(mends) {}

  Result<MadeRocePort> run() {
    if (wanted_.name.empty() || wanted_.name.size() > kMaxName) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{}: no name for an interface", wanted_.name));
    }
    auto port = find_link(links_, wanted_.name);
    if (!port) return std::unexpected(port.error());
    auto guest_tap = find_link(links_, wanted_.guest_tap);
    if (!guest_tap) return std::unexpected(guest_tap.error());
    if (!*port) *port = make_port();
    const Link* guest = find_guest_tap(*guest_tap);
    const bool good = *port && adjust_port(**port, guest == nullptr ? 0 : guest->index);
    // A port that is not whole gets nothing: the frames stay the guest's.
    const bool told = !*port && !mends_;
    if (guest != nullptr && !told) tie_guest(guest->index, good ? (*port)->index : 0);
    made_.about.names = {wanted_.name, wanted_.guest_tap};
    if (*port) made_.about.links.insert((*port)->index);
    if (guest != nullptr) made_.about.links.insert(guest->index);
    return std::move(made_);
  }

 private:
  void complain(const std::string& link, std::string text, bool foreign = false) {
    made_.problems.push_back({.link = link, .text = std::move(text), .foreign = foreign});
  }
  void note(const std::string& link, const char* deed) {
    const auto known = std::ranges::find(made_.changes, link, &LinkChange::link);
    if (known == made_.changes.end()) {
      made_.changes.push_back({.link = link, .text = deed});
    } else if (link != wanted_.name || !is_new_) {
      known->text += fmt::format("; {}", deed);
    }
  }
  // True: it is done, or would be.
  template <typename Deed>
  bool act(const std::string& link, const PortAct& act, const Deed& deed) {
    if (!mends_) {
      complain(link, act.state);
      return true;
    }
    const Status status = deed();
    if (status) {
      note(link, act.deed);
    } else {
      complain(link, fmt::format("cannot {}: {}", act.wish, status.error().message));
    }
    return status.has_value();
  }

  // nullopt: it was not made, which is told.
  std::optional<Link> make_port() {
    const bool made =
        act(wanted_.name, kMakePort, [this] { return make_tap(wanted_.name, TapAccess{}); });
    if (!made || !mends_) return std::nullopt;
    is_new_ = true;
    auto port = find_link(links_, wanted_.name);
    if (!port || !*port) {
      complain(wanted_.name, "it disappeared as soon as it was created");
      return std::nullopt;
    }
    const std::string alias = alias_of(mark_, wanted_.guest_tap);
    if (!act(wanted_.name, kSignPort, [&] { return links_.set_mark((*port)->index, alias); })) {
      static_cast<void>(links_.remove((*port)->index));
      return std::nullopt;
    }
    (*port)->mark = alias;
    // A kernel without IPv6 has no such thing to forbid.
    static_cast<void>(links_.forbid_own_address((*port)->index));
    return std::move(*port);
  }

  // nullptr: it is not there, or another's, which is told.
  const Link* find_guest_tap(const std::optional<Link>& found) {
    if (!found) {
      complain(wanted_.guest_tap, "it does not exist");
    } else if (!is_guest_tap(*found, mark_)) {
      complain(wanted_.guest_tap, kForeign, true);
    } else {
      return &*found;
    }
    return nullptr;
  }

  // True: frames may come to it.
  bool adjust_port(const Link& port, int guest_tap) {
    if (!is_port(port, mark_)) {
      complain(wanted_.name, kForeign, true);
      return false;
    }
    const int index = port.index;
    const std::string alias = alias_of(mark_, wanted_.guest_tap);
    if (port.mark != alias) {
      act(port.name, kSignPort, [&] { return links_.set_mark(index, alias); });
    }
    if (port.master != 0) act(port.name, kFreePort, [&] { return links_.set_master(index, 0); });
    clear_addresses(port);
    // Frames of the engine reach this host only if the rules are removed, and find nothing then.
    if (!port.silent) act(port.name, kSilencePort, [&] { return links_.forbid_ipv4(index); });
    keep_ipv6_off(port.name);
    if (port.mtu != wanted_.mtu) {
      act(port.name, kSizePort, [&] { return links_.set_mtu(index, wanted_.mtu); });
    }
    if (port.queue_length != kWaitingFrames) {
      act(port.name, kQueuePort, [&] { return links_.set_queue_length(index, kWaitingFrames); });
    }
    const bool walled = wall_port(index, guest_tap);
    if (!walled || port.up) return walled;
    return act(port.name, kRaisePort, [&] { return links_.set_up(index); });
  }

  void clear_addresses(const Link& port) {
    const auto addresses = links_.ipv4_addresses();
    if (!addresses) return complain(port.name, addresses.error().message);
    const auto own = addresses->find(port.index);
    if (own == addresses->end()) return;
    for (const Ipv4Interface& address : own->second) {
      act(port.name, kClearPort, [&] { return links_.remove_address(port.index, address); });
    }
  }

  void keep_ipv6_off(const std::string& link) {
    const Result<bool> is_on = is_ipv6_on(link);
    if (is_on && !*is_on) return;
    if (!is_on) return complain(link, "cannot look at IPv6: " + is_on.error().message);
    act(link, kSilenceIpv6, [&link]() -> Status {
      const Result<bool> off = turn_ipv6_off(link);
      return off ? Status() : std::unexpected(off.error());
    });
  }

  // The rules for what the engine writes. All rules on the port are ours, so if one is not as it is
  // wanted all are made again: with none, the frames go nowhere.
  bool wall_port(int port, int guest_tap) {
    const std::vector<TrafficRule> wanted = rules_of_port(wanted_.mac, guest_tap);
    const auto hook = rules_.hook(port);
    const auto received = rules_.list(port, Direction::kReceived);
    const auto sent = rules_.list(port, Direction::kSent);
    if (!hook || !received || !sent) {
      complain(wanted_.name, "cannot list its rules for frames");
      return false;
    }
    const RuleDifference difference = compare(*received, wanted);
    if (*hook == "clsact" && difference.is_good() && difference.foreign.empty() && sent->empty()) {
      return true;
    }
    const bool empty = received->empty() && sent->empty();
    return act(wanted_.name, empty ? kHook : kRules, [&] {
      if (!hook->empty()) {
        if (Status gone = rules_.remove_hook(port); !gone) return gone;
      }
      Status done = rules_.add_hook(port);
      for (std::size_t i = 0; done && i < wanted.size(); ++i) {
        done = rules_.set(port, Direction::kReceived, wanted[i]);
      }
      return done;
    });
  }

  // If `port` is 0, no port can take the frames.
  void tie_guest(int guest_tap, int port) {
    std::vector<TrafficRule> wanted;
    if (port != 0) wanted = rules_to_guest(wanted_.mac, port);
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
  const bool mends_;
  bool is_new_ = false;
  MadeRocePort made_;
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
  if (!is_port(**found, mark)) return fail(Errc::kBadState, fmt::format("{}: {}", name, kForeign));
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
  for (const Link& link : *all) {
    if (!is_port(link, mark)) continue;
    const std::size_t length = link.mark.size() - mark.size() - kRocePortEnd.size();
    ports.push_back({.name = link.name, .guest_tap = link.mark.substr(mark.size(), length)});
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
