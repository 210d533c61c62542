#include "ipoib/wanted_groups.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace paravane::ipoib {

WantedGroups::Verdict WantedGroups::want_until(const Listener& listener, Instant until) {
  const VlanGroup key{.vlan = listener.vlan, .name = listener.group};
  if (const auto known = listeners_.find(listener); known != listeners_.end()) {
    known->second = until;
    return Verdict::kKnown;
  }
  const bool is_new = !groups_.contains(key);
  if (!has_room(listener, is_new)) return Verdict::kNoRoom;
  Share& share = shares_[listener.vlan];
  // Without memory for the listener, a new group ends with the time it has now.
  const auto place = groups_.try_emplace(key, Group{.until = until}).first;
  if (is_new) ++share.groups;
  next_ = std::min(next_, until);
  listeners_.emplace(listener, until);
  ++share.listeners;
  ++place->second.listeners;
  place->second.until = kNever;
  return is_new ? Verdict::kNew : Verdict::kKnown;
}

bool WantedGroups::has_room(const Listener& listener, bool is_new) const {
  if (listeners_.size() >= kMostListeners || (is_new && groups_.size() >= kMost)) return false;
  const std::uint16_t vlan = listener.vlan;
  const auto from_here = listeners_.lower_bound({.vlan = vlan, .mac = listener.mac});
  const auto is_of_mac = [&](const auto& one) {
    return one.first.vlan == vlan && one.first.mac == listener.mac;
  };
  const auto after = std::find_if_not(from_here, listeners_.end(), is_of_mac);
  if (std::distance(from_here, after) >= std::ptrdiff_t{kMostOfMac}) return false;
  const auto share = shares_.find(vlan);
  if (share == shares_.end()) return true;
  return share->second.listeners < kMostListenersOfVlan &&
         (!is_new || share->second.groups < kMostOfVlan);
}

// REQUIRES: no listener is left of it.
WantedGroups::Groups::iterator WantedGroups::erase(Groups::iterator group) {
  --shares_.at(group->first.vlan).groups;
  return groups_.erase(group);
}

// What it means for the group is the caller's to say.
WantedGroups::Listeners::iterator WantedGroups::erase(Listeners::iterator listener) {
  --shares_.at(listener->first.vlan).listeners;
  return listeners_.erase(listener);
}

bool WantedGroups::leave(const Listener& listener, Instant now) {
  const auto found = listeners_.find(listener);
  if (found == listeners_.end()) return false;
  erase(found);
  return lose_listener({.vlan = listener.vlan, .name = listener.group}, now + kLastMemberTime);
}

bool WantedGroups::lose_listener(const VlanGroup& key, Instant until) {
  Group& group = groups_.at(key);
  if (--group.listeners != 0) return false;
  group.until = until;
  next_ = std::min(next_, until);
  return true;
}

std::vector<WantedGroups::Held> WantedGroups::give_up(std::uint16_t vlan, const MacBytes& mac,
                                                      Instant now) {
  std::vector<Held> held;
  held.reserve(kMostOfMac);  // first: without memory nothing has changed
  auto one = listeners_.lower_bound({.vlan = vlan, .mac = mac});
  while (one != listeners_.end() && one->first.vlan == vlan && one->first.mac == mac) {
    held.push_back({.listener = one->first, .left = one->second - now});
    lose_listener({.vlan = vlan, .name = one->first.group}, now + kLastMemberTime);
    one = erase(one);
  }
  return held;
}

void WantedGroups::forget(std::uint16_t vlan) {
  std::erase_if(listeners_, [vlan](const auto& one) { return one.first.vlan == vlan; });
  std::erase_if(groups_, [vlan](const auto& one) { return one.first.vlan == vlan; });
  shares_.erase(vlan);
}

std::vector<VlanGroup> WantedGroups::expire(Instant now) {
  std::vector<VlanGroup> ended;
  if (now < next_) return ended;
  ended.reserve(groups_.size());  // first: without memory nothing has changed
  for (auto one = listeners_.begin(); one != listeners_.end();) {
    if (one->second > now) {
      ++one;
      continue;
    }
    lose_listener({.vlan = one->first.vlan, .name = one->first.group}, now);
    one = erase(one);
  }
  next_ = kNever;
  for (const auto& [listener, until] : listeners_) next_ = std::min(next_, until);
  for (auto one = groups_.begin(); one != groups_.end();) {
    if (one->second.until > now) {
      next_ = std::min(next_, one->second.until);
      ++one;
      continue;
    }
    ended.push_back(one->first);
    one = erase(one);
  }
  return ended;
}

}  // namespace paravane::ipoib
