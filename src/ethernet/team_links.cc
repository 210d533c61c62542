#include "ethernet/team_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ethernet/address_announcement.h"

namespace paravane::ethernet {

void TeamLinks::choose(MadeLinks& made, LinkReport& report) {
  for (const WantedTeam& team : wanted_.teams) choose_of(team, made, report);
}

TeamLinks::Port TeamLinks::find_port(const std::string& name) const {
  for (const auto& [wanted, nic] : uplinks_) {
    if (wanted->name != name) continue;
    return {.wanted = wanted, .link = seen_.why_not_uplink(*nic) ? nullptr : nic};
  }
  const auto tap = std::ranges::find(wanted_.taps, name, &WantedPort::name);
  if (tap == wanted_.taps.end()) return {};
  const Link* link = seen_.find(name);
  return {.wanted = &*tap, .link = link != nullptr && seen_.is_ours(*link) ? link : nullptr};
}

bool TeamLinks::is_on(const Link& link, const std::string& bridge) const {
  const auto found = bridges_.find(bridge);
  return found != bridges_.end() && link.master == found->second;
}

TeamCandidate TeamLinks::look_at(const WantedTeam::Member& member) const {
  TeamCandidate candidate;
  for (const std::string& name : member.ports) {
    const Port port = find_port(name);
    if (port.link == nullptr) continue;
    candidate.is_usable = true;
    candidate.has_link = candidate.has_link || (port.link->up && port.link->carrier);
    candidate.carries_now = candidate.carries_now || is_on(*port.link, port.wanted->bridge);
  }
  return candidate;
}

bool TeamLinks::is_up(const WantedTeam::Member& member) const {
  return std::ranges::any_of(member.ports, [this](const std::string& name) {
    const Port port = find_port(name);
    return port.link != nullptr && port.link->up;
  });
}

void TeamLinks::choose_of(const WantedTeam& team, MadeLinks& made, LinkReport& report) {
  std::vector<TeamCandidate> candidates;
  candidates.reserve(team.members.size());
  for (const WantedTeam::Member& member : team.members) candidates.push_back(look_at(member));
  const auto chosen = choose_uplink(candidates);
  std::string before = team.last;
  for (std::size_t i = 0; i < team.members.size(); ++i) {
    if (candidates[i].carries_now) before = team.members[i].name;
    if (i == chosen) continue;
    parked_.insert(team.members[i].ports.begin(), team.members[i].ports.end());
  }
  if (!chosen) return;
  const std::string& now = team.members[*chosen].name;
  made.active[team.name] = now;
  const bool is_new = !candidates[*chosen].carries_now && !before.empty() && before != now;
  if (is_new) made.takeovers.push_back({.team = team.name, .from = std::move(before), .to = now});
  for (std::size_t i = 0; i < team.members.size(); ++i) {
    if (candidates[i].has_link || !is_up(team.members[i])) continue;
    report.complain(
        {.link = team.members[i].name,
         .text = i == chosen
                     ? std::string("it has no link, and no other uplink of the team has one")
                     : fmt::format("it has no link: {} carries the frames of the switch", now),
         .no_link = true});
  }
}

void TeamLinks::look_for_links(LinkReport& report) const {
  for (const WantedTeam::Member& uplink : wanted_.alone) {
    if (look_at(uplink).has_link || !is_up(uplink)) continue;
    report.complain(
        {.link = uplink.name, .text = "it has no link, so no frame passes it", .no_link = true});
  }
}

const std::string& TeamLinks::bridge_of(const WantedPort& port) const {
  return is_parked(port) ? port.parking : port.bridge;
}

const WantedTeam* TeamLinks::team_of(const std::string& port) const {
  for (const WantedTeam& team : wanted_.teams) {
    for (const WantedTeam::Member& member : team.members) {
      if (std::ranges::find(member.ports, port) != member.ports.end()) return &team;
    }
  }
  return nullptr;
}

bool TeamLinks::is_in_the_way(const WantedPort& port) const {
  const WantedTeam* team = port.parking.empty() ? nullptr : team_of(port.name);
  return team != nullptr && stuck_.contains(team->name);
}

void TeamLinks::announce(const Takeover& takeover, Links& links, LinkReport& report) const {
  if (stuck_.contains(takeover.team)) return;
  const auto team = std::ranges::find(wanted_.teams, takeover.team, &WantedTeam::name);
  const auto member = std::ranges::find(team->members, takeover.to, &WantedTeam::Member::name);
  for (const std::string& name : member->ports) {
    const Port port = find_port(name);
    if (port.link == nullptr) continue;
    const Status announced = announce_through(port, links);
    if (announced) continue;
    report.complain(name, fmt::format("cannot announce the VMs' addresses through it: {}",
                                      announced.error().message));
  }
}

Status TeamLinks::announce_through(const Port& port, Links& links) const {
  const auto bridge = bridges_.find(port.wanted->bridge);
  const auto parking = bridges_.find(port.wanted->parking);
  if (bridge == bridges_.end() || parking == bridges_.end()) return {};  // told elsewhere
  const auto addresses = links.bridge_addresses(bridge->second);
  if (!addresses) return std::unexpected(addresses.error());
  const auto frames = announcements(*addresses, port.wanted->untagged, port.wanted->tagged);
  // One that came just now.
  if (!frames.empty() && port.link->master != parking->second) {
    const Status attached = links.set_master(port.link->index, parking->second);
    if (!attached) return attached;
  }
  return send_through(links, parking->second, frames);
}

void TeamLinks::set_stuck(const WantedPort& port) {
  stuck_.insert(team_of(port.name)->name);
}

}  // namespace paravane::ethernet
