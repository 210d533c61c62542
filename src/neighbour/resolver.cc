#include "neighbour/resolver.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ipoib/group_mac.h"

namespace paravane::neighbour {
namespace {

using wire::infiniband::Ipv4Address;
using wire::infiniband::kEtherTypeArp;

Ipv4Address bytes_of(std::uint32_t ipv4) {
  return {static_cast<std::uint8_t>(ipv4 >> 24), static_cast<std::uint8_t>(ipv4 >> 16),
          static_cast<std::uint8_t>(ipv4 >> 8), static_cast<std::uint8_t>(ipv4)};
}

std::uint32_t number_of(const Ipv4Address& bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) |
         (std::uint32_t{bytes[2]} << 8) | bytes[3];
}

}  // namespace

void Resolver::use(Send send) {
  send_ = std::move(send);
  neighbours_.clear();
  rival_.reset();
  if (!send_ || !station_.ipv4) return;
  // Whatever knew the address at another place hears of this one (RFC 5227, 3).
  const std::uint32_t own = station_.ipv4->address;
  send_arp(ipoib::kBroadcastMac, ipoib::ArpOperation::kRequest, {}, own);
}

// ---- Questions of ours ----

std::optional<MacBytes> Resolver::mac_of(const Address& address, Instant now) {
  const auto hop = station_.next_hop(address);
  if (!hop || !send_) return std::nullopt;
  auto found = neighbours_.find(*hop);
  if (found == neighbours_.end()) {
    make_room();
    found = neighbours_.emplace(*hop, Neighbour{}).first;
    found->second.used = now;
    ask(*hop, found->second, now);
    return std::nullopt;
  }
  Neighbour& neighbour = found->second;
  neighbour.used = now;
  const bool is_fresh = neighbour.mac && now < neighbour.heard + kGoodFor;
  if (!is_fresh && now >= neighbour.asked + kAskAgain) {
    if (neighbour.tries >= kTries) neighbour.mac.reset();
    ask(*hop, neighbour, now);
  }
  return neighbour.mac;
}

void Resolver::make_room() {
  if (neighbours_.size() < kMostNeighbours) return;
  neighbours_.erase(std::ranges::min_element(neighbours_, {},
                                             [](const auto& entry) { return entry.second.used; }));
  counters_.full.add();
}

void Resolver::ask(const Address& hop, Neighbour& neighbour, Instant now) {
  neighbour.asked = now;
  ++neighbour.tries;
  counters_.asked.add();
  if (const auto ipv4 = ipv4_of(hop)) {
    send_arp(ipoib::kBroadcastMac, ipoib::ArpOperation::kRequest, {}, *ipv4);
  } else {
    send_(solicitation_of(station_, hop));
  }
}

void Resolver::send_arp(const MacBytes& to, ipoib::ArpOperation operation, const MacBytes& target,
                        std::uint32_t target_ipv4) {
  const auto packet = ipoib::ethernet_arp({.operation = operation,
                                           .sender = station_.mac,
                                           .sender_ipv4 = bytes_of(station_.ipv4->address),
                                           .target = target,
                                           .target_ipv4 = bytes_of(target_ipv4)});
  std::vector<std::byte> frame;
  ipoib::write_frame(
      {.destination = to, .source = station_.mac, .type = kEtherTypeArp, .payload = packet}, frame);
  send_(frame);
}

void Resolver::hear(const Address& address, const MacBytes& mac, Instant now) {
  const auto found = neighbours_.find(address);
  if (found == neighbours_.end()) return;
  found->second.mac = mac;
  found->second.heard = now;
  found->second.tries = 0;
}

// ---- Frames of others ----

bool Resolver::take(std::span<const std::byte> bytes, Instant now) {
  if (!send_) return false;
  const auto frame = ipoib::read_frame(bytes);
  if (!frame || (frame->vlan && frame->vlan->number != 0)) return false;
  if (frame->destination != station_.mac && !ipoib::is_group_mac(frame->destination)) return false;
  const bool is_arp = frame->type == kEtherTypeArp;
  if (!is_arp && frame->type != wire::roce::kEtherTypeIpv6) return false;
  if (is_above_rate(now)) return false;
  const bool is_taken = is_arp ? take_arp(*frame, now) : take_discovery(*frame, now);
  if (is_taken) ++taken_;
  return is_taken;
}

bool Resolver::take_arp(const ipoib::EthernetFrame& frame, Instant now) {
  const auto arp = ipoib::read_ethernet_arp(frame.payload);
  if (!arp || !station_.ipv4 || arp->sender == station_.mac) return false;
  const std::uint32_t sender = number_of(arp->sender_ipv4);
  const bool is_for_us = number_of(arp->target_ipv4) == station_.ipv4->address;
  if (sender == station_.ipv4->address) {
    rival_ = arp->sender;
    rival_heard_ = now;
    return true;
  }
  const Address address = address_of(sender);
  const bool is_known = neighbours_.contains(address);
  hear(address, arp->sender, now);
  if (!is_for_us || arp->operation != ipoib::ArpOperation::kRequest) return is_known;
  counters_.answered.add();
  send_arp(arp->sender, ipoib::ArpOperation::kReply, arp->sender, sender);
  return true;
}

bool Resolver::take_discovery(const ipoib::EthernetFrame& frame, Instant now) {
  if (const auto asked = read_solicitation(frame)) {
    if (asked->target != station_.link_local) return false;
    counters_.answered.add();
    send_(advertisement_of(station_, *asked, frame.source));
    return true;
  }
  const auto told = read_advertisement(frame);
  if (!told || !neighbours_.contains(told->target)) return false;
  const MacBytes mac = told->mac.value_or(frame.source);
  if (!ipoib::is_station_mac(mac)) return false;
  hear(told->target, mac, now);
  return true;
}

bool Resolver::is_above_rate(Instant now) {
  if (now >= second_ + std::chrono::seconds(1)) {
    second_ = now;
    taken_ = 0;
  }
  if (taken_ < kMostFrames) return false;
  counters_.limited.add();
  return true;
}

}  // namespace paravane::neighbour
