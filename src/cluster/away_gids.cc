#include "cluster/away_gids.h"

#include <fmt/core.h>

#include "model/segment.h"

namespace paravane::cluster {
namespace {

using inventory::GidId;
using inventory::RoceType;
using inventory::View;

bool is_present(const View& view, const std::string& host) {
  const auto found = view.hosts.find(host);
  return found != view.hosts.end() && found->second.info;
}

// With an authority that does not say which hosts are members, any may be one.
bool may_be_member(const View& view, const std::string& host) {
  return view.members.empty() || view.members.contains(host);
}

// Why an adapter cannot be reached by a GID of its own.
const char* why_held(const View& view, const std::string& host, const GidId& gid) {
  if (!is_present(view, host)) return "which is away";
  const bool is_unlinked = view.hosts.at(host).unlinked.contains(gid);
  return is_unlinked ? "which is disconnected from its switch" : "whose guest does not use it";
}

std::map<GidId, model::AdapterName> gids_of(const View& view, const inventory::Host& host) {
  std::map<GidId, model::AdapterName> gids = host.gids;
  gids.insert(host.unlinked.begin(), host.unlinked.end());
  for (const auto& [name, adapter] : host.adapters) {
    const auto segment = model::segment_number(view.network, adapter.port_group);
    if (!segment) continue;
    for (const RoceType type : {RoceType::kV1, RoceType::kV2}) {
      gids.try_emplace({*segment, inventory::link_local_gid(adapter.mac), type}, name);
    }
  }
  return gids;
}

}  // namespace

void AwayGids::remember(const View& view, const std::string& self) {
  for (const auto& [name, host] : view.hosts) {
    if (name != self && host.info) hosts_[name] = gids_of(view, host);
  }
  if (hosts_.size() > View::kMaxHosts) {
    std::erase_if(hosts_, [&](const auto& one) { return !is_present(view, one.first); });
  }
  std::erase_if(hosts_, [&](const auto& one) {
    return one.first == self || (!is_present(view, one.first) && !may_be_member(view, one.first));
  });
}

void AwayGids::recall(const View& away) {
  for (const auto& [name, host] : away.hosts) hosts_[name] = gids_of(away, host);
}

std::vector<AwayGids::Held> AwayGids::look(const View& view, const std::string& self) {
  remember(view, self);
  std::vector<Held> held;
  for (const auto& [name, gids] : hosts_) {
    for (const auto& [gid, adapter] : gids) {
      if (view.gids.contains(gid)) continue;  // it can be reached, or is another's
      held.push_back({.gid = gid,
                      .owner = fmt::format("adapter {} of host {}, {}", to_string(adapter), name,
                                           why_held(view, name, gid))});
    }
  }
  return held;
}

}  // namespace paravane::cluster
