#include "ipoib/remote_nodes.h"

#include <algorithm>

namespace paravane::ipoib {

void RemoteNodes::heard(std::uint16_t vlan, const RemoteQueuePair& from, Instant now) {
  const Name name{.vlan = vlan, .lid = from.lid, .number = from.number};
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    by_time_.splice(by_time_.begin(), by_time_, found->second);
    found->second->last_heard = now;
    return;
  }
  // Made apart: without memory for one of both nothing is remembered.
  Order made;
  made.push_front({.name = name, .last_heard = now});
  by_name_.emplace(name, made.begin());
  by_time_.splice(by_time_.begin(), made);
  if (by_name_.size() > kMost) erase(by_name_.find(by_time_.back().name));
}

bool RemoteNodes::knows(std::uint16_t vlan, const RemoteQueuePair& remote, Instant now) const {
  const auto found = by_name_.find({.vlan = vlan, .lid = remote.lid, .number = remote.number});
  return found != by_name_.end() && lives(*found->second, now);
}

bool RemoteNodes::knows(std::uint16_t vlan, std::uint16_t lid, Instant now) const {
  const auto first = by_name_.lower_bound({.vlan = vlan, .lid = lid});
  const auto end = by_name_.upper_bound({.vlan = vlan, .lid = lid, .number = UINT32_MAX});
  return std::any_of(first, end, [now](const auto& entry) { return lives(*entry.second, now); });
}

void RemoteNodes::forget(std::uint16_t vlan) {
  while (true) {
    const auto found = by_name_.lower_bound({.vlan = vlan});
    if (found == by_name_.end() || found->first.vlan != vlan) return;
    erase(found);
  }
}

void RemoteNodes::clear() {
  by_name_.clear();
  by_time_.clear();
}

void RemoteNodes::erase(std::map<Name, Order::iterator>::iterator at) {
  by_time_.erase(at->second);
  by_name_.erase(at);
}

}  // namespace paravane::ipoib
