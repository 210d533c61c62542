#include "ethernet/link_upkeep.h"

#include <fmt/core.h>

#include <algorithm>

#include "ethernet/ipv6_off.h"

namespace paravane::ethernet {
namespace {

constexpr UpkeepAct kFree{"it is on a bridge", "remove it from the bridge",
                          "it was on a bridge and was removed from it"};
constexpr UpkeepAct kClear{"it has an address", "remove its address",
                           "it had an address, which was removed"};
constexpr UpkeepAct kSilenceIpv4{"it answers ARP or accepts IPv4", "disable ARP and IPv4 on it",
                                 "it answered ARP or accepted IPv4; both were disabled"};
constexpr UpkeepAct kSilenceIpv6{"IPv6 is enabled on it", "disable IPv6 on it",
                                 "IPv6 was enabled on this interface and has been disabled"};
constexpr UpkeepAct kSize{"its MTU is wrong", "set the MTU", "its MTU was wrong and was corrected"};
constexpr UpkeepAct kQueue{"its queue length is wrong", "set its queue length",
                           "its queue length was wrong and was corrected"};
constexpr UpkeepAct kRaise{"it is down", "bring it up", "it was down and was brought up"};

}  // namespace

bool LinkUpkeep::judge(const std::string& link, const UpkeepAct& act, const Status& status) {
  if (!status) {
    complain(link, fmt::format("cannot {}: {}", act.wish, status.error().message));
    return false;
  }
  const auto known = std::ranges::find(changes_, link, &LinkChange::link);
  if (known == changes_.end()) {
    changes_.push_back({.link = link, .text = act.deed});
  } else if (!new_.contains(link)) {
    known->text += fmt::format("; {}", act.deed);
  }
  return true;
}

void LinkUpkeep::keep_quiet(const Link& link, const WantedQuietLink& wanted) {
  const int index = link.index;
  if (link.mark != wanted.alias) {
    act(link.name, kSign, [&] { return links_.set_mark(index, wanted.alias); });
  }
  if (link.master != 0) act(link.name, kFree, [&] { return links_.set_master(index, 0); });
  clear_addresses(link);
  if (!link.silent) act(link.name, kSilenceIpv4, [&] { return links_.forbid_ipv4(index); });
  keep_ipv6_off(link.name);
  if (link.mtu != wanted.mtu) {
    act(link.name, kSize, [&] { return links_.set_mtu(index, wanted.mtu); });
  }
  if (wanted.queue_length && link.queue_length != *wanted.queue_length) {
    act(link.name, kQueue, [&] { return links_.set_queue_length(index, *wanted.queue_length); });
  }
}

void LinkUpkeep::clear_addresses(const Link& link) {
  const auto addresses = links_.ipv4_addresses();
  if (!addresses) return complain(link.name, addresses.error().message);
  const auto own = addresses->find(link.index);
  if (own == addresses->end()) return;
  for (const Ipv4Interface& address : own->second) {
    act(link.name, kClear, [&] { return links_.remove_address(link.index, address); });
  }
}

void LinkUpkeep::keep_ipv6_off(const std::string& link) {
  const Result<bool> is_on = is_ipv6_on(link);
  if (is_on && !*is_on) return;
  if (!is_on) return complain(link, "cannot look at IPv6: " + is_on.error().message);
  act(link, kSilenceIpv6, [&link]() -> Status {
    const Result<bool> off = turn_ipv6_off(link);
    return off ? Status() : std::unexpected(off.error());
  });
}

bool LinkUpkeep::keep_rules(const Link& link, const std::vector<TrafficRule>& of_received,
                            const std::vector<TrafficRule>& of_sent) {
  const auto hook = rules_.hook(link.index);
  const auto received = rules_.list(link.index, Direction::kReceived);
  const auto sent = rules_.list(link.index, Direction::kSent);
  if (!hook || !received || !sent) {
    complain(link.name, "cannot list its rules for frames");
    return false;
  }
  const auto is_good = [](const std::vector<ListedRule>& found,
                          const std::vector<TrafficRule>& wanted) {
    const RuleDifference difference = compare(found, wanted);
    return difference.is_good() && difference.foreign.empty();
  };
  if (*hook == "clsact" && is_good(*received, of_received) && is_good(*sent, of_sent)) return true;
  const bool empty = received->empty() && sent->empty();
  return act(link.name, empty ? kHook : kRules, [&] {
    if (!hook->empty()) {
      if (Status gone = rules_.remove_hook(link.index); !gone) return gone;
    }
    Status done = rules_.add_hook(link.index);
    for (std::size_t i = 0; done && i < of_received.size(); ++i) {
      done = rules_.set(link.index, Direction::kReceived, of_received[i]);
    }
    for (std::size_t i = 0; done && i < of_sent.size(); ++i) {
      done = rules_.set(link.index, Direction::kSent, of_sent[i]);
    }
    return done;
  });
}

bool LinkUpkeep::keep_up(const Link& link) {
  return link.up || act(link.name, kRaise, [&] { return links_.set_up(link.index); });
}

}  // namespace paravane::ethernet
