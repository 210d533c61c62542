#include "ipoib/own_addresses.h"

#include <iterator>

namespace paravane::ipoib {

OwnAddresses::~OwnAddresses() {
  for (const Address& address : by_use_) queue_pairs_.destroy(address.queue_pair);
}

const OwnAddresses::Address* OwnAddresses::use(const MacBytes& mac, std::uint16_t vlan,
                                               const subnet::QueuePairs::Facts& facts,
                                               Instant now) {
  if (const auto found = by_mac_.find({vlan, mac}); found != by_mac_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    found->second->last_used = now;
    return &*found->second;
  }
  if (by_use_.size() >= kMost) {
    if (now - by_use_.back().last_used < kIdle) return nullptr;
    erase(std::prev(by_use_.end()));
  }
  by_use_.push_front({.mac = mac, .vlan = vlan, .last_used = now});
  const auto fresh = by_use_.begin();
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
  return true;
}

const OwnAddresses::Address* OwnAddresses::find(std::uint32_t queue_pair) const {
  const auto found = by_queue_pair_.find(queue_pair);
  return found == by_queue_pair_.end() ? nullptr : &*found->second;
}

const OwnAddresses::Address* OwnAddresses::find(const MacBytes& mac, std::uint16_t vlan) const {
  const auto found = by_mac_.find({vlan, mac});
  return found == by_mac_.end() ? nullptr : &*found->second;
}

void OwnAddresses::change(std::uint16_t vlan, const subnet::QueuePairs::Facts& facts) {
  for (const Address& address : by_use_) {
    if (address.vlan == vlan) queue_pairs_.change(address.queue_pair, facts);
  }
}

void OwnAddresses::forget(std::uint16_t vlan) {
  for (auto at = by_use_.begin(); at != by_use_.end();) {
    const auto next = std::next(at);
    if (at->vlan == vlan) erase(at);
    at = next;
  }
}

void OwnAddresses::erase(Order::iterator at) {
  queue_pairs_.destroy(at->queue_pair);
  by_mac_.erase({at->vlan, at->mac});
  by_queue_pair_.erase(at->queue_pair);
  by_use_.erase(at);
}

}  // namespace paravane::ipoib
