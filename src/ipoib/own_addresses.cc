#include "ipoib/own_addresses.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace paravane::ipoib {

OwnAddresses::~OwnAddresses() {
  for (const auto& [key, at] : by_mac_) queue_pairs_.destroy(at->queue_pair);
}

const OwnAddresses::Address* OwnAddresses::use(const MacBytes& mac, std::uint16_t vlan,
                                               const subnet::QueuePairs::Facts& facts,
                                               Instant now) {
  if (const auto found = by_mac_.find({vlan, mac}); found != by_mac_.end()) {
    Order& order = order_of(*found->second);
    order.splice(order.begin(), order, found->second);
    found->second->last_used = now;
    return &*found->second;
  }
  if (size() >= kMost && !make_room(vlan, now)) return nullptr;
  // Made apart: without memory for it there is no share without an address.
  Order made;
  made.push_front({.mac = mac, .vlan = vlan, .last_used = now});
  Order& order = shares_[vlan].unanswered;
  order.splice(order.begin(), made);
  const auto fresh = order.begin();
  try {
    if (complete(fresh, facts)) return &*fresh;
  } catch (...) {  // no memory
    erase(fresh);
    throw;
  }
  erase(fresh);
  return nullptr;
}

std::uint32_t OwnAddresses::number_for(const MacBytes& mac, std::uint16_t vlan) {
  // FNV-1a, folded to 24 bits.
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 1099511628211u; };
  add(static_cast<std::uint8_t>(vlan >> 8));
  add(static_cast<std::uint8_t>(vlan));
  for (const std::uint8_t byte : mac) add(byte);
  const auto number = static_cast<std::uint32_t>((hash ^ (hash >> 24) ^ (hash >> 48)) & 0xFF'FFFF);
  return has_remote_mac({.number = number, .lid = 1}) ? number : 0;
}

bool OwnAddresses::complete(Order::iterator fresh, const subnet::QueuePairs::Facts& facts) {
  by_mac_[{fresh->vlan, fresh->mac}] = fresh;
  const auto made = queue_pairs_.make(facts, receiver_, number_for(fresh->mac, fresh->vlan));
  if (!made) return false;
  fresh->queue_pair = *made;
  by_queue_pair_[*made] = fresh;
  ++made_;
  return true;
}

// ---- Room ----

OwnAddresses::Order::iterator OwnAddresses::Share::longest_silent() {
  if (answered.empty()) return std::prev(unanswered.end());
  if (unanswered.empty()) return std::prev(answered.end());
  const auto one = std::prev(answered.end());
  const auto other = std::prev(unanswered.end());
  return one->last_used < other->last_used ? one : other;
}

OwnAddresses::Order& OwnAddresses::order_of(const Address& address) {
  Share& share = shares_.at(address.vlan);
  return address.is_answered ? share.answered : share.unanswered;
}

bool OwnAddresses::make_room(std::uint16_t vlan, Instant now) {
  const auto silent = std::ranges::min_element(
      shares_, {}, [](auto& entry) { return entry.second.longest_silent()->last_used; });
  const auto longest = silent->second.longest_silent();
  if (now - longest->last_used >= kIdle) {
    erase(longest);
    return true;
  }
  const auto flooded = std::ranges::max_element(
      shares_, {}, [](const auto& entry) { return entry.second.unanswered.size(); });
  if (!flooded->second.unanswered.empty()) {
    erase(std::prev(flooded->second.unanswered.end()));
    return true;
  }
  const auto own = shares_.find(vlan);
  if (own != shares_.end() && own->second.size() >= kOfEachVlan) return false;
  const auto greatest =
      std::ranges::max_element(shares_, {}, [](const auto& entry) { return entry.second.size(); });
  if (greatest->second.size() <= kOfEachVlan) return false;
  erase(greatest->second.longest_silent());
  return true;
}

void OwnAddresses::answered(std::uint32_t queue_pair) {
  const auto found = by_queue_pair_.find(queue_pair);
  if (found == by_queue_pair_.end() || found->second->is_answered) return;
  const auto at = found->second;
  Share& share = shares_.at(at->vlan);
  at->is_answered = true;
  // Its place is that of its last frame.
  const auto place = std::ranges::find_if(
      share.answered, [&at](const Address& other) { return other.last_used <= at->last_used; });
  share.answered.splice(place, share.unanswered, at);
}

// ---- What is there ----

const OwnAddresses::Address* OwnAddresses::find(std::uint32_t queue_pair) const {
  const auto found = by_queue_pair_.find(queue_pair);
  return found == by_queue_pair_.end() ? nullptr : &*found->second;
}

const OwnAddresses::Address* OwnAddresses::find(const MacBytes& mac, std::uint16_t vlan) const {
  const auto found = by_mac_.find({vlan, mac});
  return found == by_mac_.end() ? nullptr : &*found->second;
}

std::vector<OwnAddresses::Address> OwnAddresses::all() const {
  std::vector<Address> all;
  for (const auto& [key, at] : by_mac_) all.push_back(*at);
  std::ranges::sort(all, std::greater{}, &Address::last_used);
  return all;
}

bool OwnAddresses::adopt(const Address& address, const subnet::QueuePairs::Facts& facts) {
  if (size() >= kMost || find(address.mac, address.vlan) != nullptr) return false;
  const Address* made = use(address.mac, address.vlan, facts, address.last_used);
  if (made == nullptr) return false;
  if (address.is_answered) answered(made->queue_pair);
  if (made->queue_pair == address.queue_pair) return true;
  const auto number = queue_pairs_.make(facts, receiver_, address.queue_pair);
  if (!number) return true;
  if (*number != address.queue_pair) {
    queue_pairs_.destroy(*number);
    return true;
  }
  // From here on nothing needs memory.
  auto place = by_queue_pair_.extract(made->queue_pair);
  queue_pairs_.destroy(made->queue_pair);
  place.mapped()->queue_pair = *number;
  place.key() = *number;
  by_queue_pair_.insert(std::move(place));
  return true;
}

ClaimedAddresses* OwnAddresses::claims_of(const MacBytes& mac, std::uint16_t vlan) {
  const auto found = by_mac_.find({vlan, mac});
  return found == by_mac_.end() ? nullptr : &found->second->claims;
}

std::optional<ClaimedAddresses> OwnAddresses::give_up(const MacBytes& mac, std::uint16_t vlan) {
  const auto found = by_mac_.find({vlan, mac});
  if (found == by_mac_.end()) return std::nullopt;
  ClaimedAddresses claims = found->second->claims;
  erase(found->second);
  return claims;
}

void OwnAddresses::change(std::uint16_t vlan, const subnet::QueuePairs::Facts& facts) {
  const auto share = shares_.find(vlan);
  if (share == shares_.end()) return;
  for (const Order* order : {&share->second.answered, &share->second.unanswered}) {
    for (const Address& address : *order) queue_pairs_.change(address.queue_pair, facts);
  }
}

void OwnAddresses::forget(std::uint16_t vlan) {
  for (auto share = shares_.find(vlan); share != shares_.end(); share = shares_.find(vlan))
    erase(share->second.longest_silent());
}

void OwnAddresses::erase(Order::iterator at) {
  const std::uint16_t vlan = at->vlan;
  queue_pairs_.destroy(at->queue_pair);
  by_mac_.erase({vlan, at->mac});
  by_queue_pair_.erase(at->queue_pair);
  order_of(*at).erase(at);
  if (const auto share = shares_.find(vlan); share->second.empty()) shares_.erase(share);
}

}  // namespace paravane::ipoib
