#include "ethernet/roce_rules.h"

#include <linux/if_ether.h>
#include <netinet/in.h>

#include <array>
#include <span>

namespace paravane::ethernet {
namespace {

// Not a number that tc(8) gives to a rule by itself: those count down from 49152.
constexpr std::uint16_t kFills = 4790;
constexpr std::uint16_t kTakes = 4791;
constexpr std::uint16_t kDrops = 4792;

constexpr std::uint16_t kRocePort = 4791;
constexpr std::uint16_t kRoceV1 = 0x8915;

// Offsets in a frame.
constexpr std::uint32_t kDestination = 0;
constexpr std::uint32_t kSource = 6;
constexpr std::uint32_t kType = 12;
constexpr std::uint8_t kGroup = 0x01;  // in the first byte of a MAC address
constexpr std::uint32_t kNetwork = ETH_HLEN;
constexpr std::uint32_t kUdpOverIpv4 = kNetwork + 20;
constexpr std::uint32_t kUdpOverIpv6 = kNetwork + 40;
constexpr std::uint32_t kChecksum = 6;  // in UDP's header
constexpr std::uint32_t kArpSender = kNetwork + 8;
constexpr std::uint32_t kIcmpOverIpv6 = kNetwork + 40;

constexpr std::uint8_t kSolicitation = 135;  // of neighbours, in ICMPv6
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kOnLinkHops = 255;      // no router has passed it on
constexpr std::uint16_t kNeighbourBytes = 32;  // of a message with one option of 8 bytes
constexpr std::uint32_t kOptionOfNeighbour = kIcmpOverIpv6 + 24;
constexpr std::uint16_t kSourceMacOption = 0x0101;  // type and length
constexpr std::uint16_t kTargetMacOption = 0x0201;

FrameFilter add_ipv4(FrameFilter filter) {
  filter.half_is(kType, ETH_P_IP).byte_is(kNetwork, 0x45);  // five words long: no options
  filter.half_is(kNetwork + 6, 0, 0x3FFF);                  // more fragments, and the offset
  filter.byte_is(kNetwork + 9, IPPROTO_UDP).half_is(kUdpOverIpv4 + 2, kRocePort);
  return filter;
}

FrameFilter add_ipv6(FrameFilter filter) {
  filter.half_is(kType, ETH_P_IPV6).byte_is(kNetwork, 0x60, 0xF0);
  filter.byte_is(kNetwork + 6, IPPROTO_UDP).half_is(kUdpOverIpv6 + 2, kRocePort);
  return filter;
}

FrameFilter add_v1(FrameFilter filter) {
  return filter.half_is(kType, kRoceV1);
}

TrafficRule take(std::uint32_t number, const FrameFilter& filter, RuleAct act, int to) {
  return {
      .preference = kTakes, .number = number, .program = filter.program(), .act = act, .to = to};
}

}  // namespace

std::vector<TrafficRule> rules_to_guest(const MacBytes& mac, const RoceWays& ways) {
  const FrameFilter any = FrameFilter().has_no_vlan();
  const FrameFilter own = FrameFilter(any).mac_is(kDestination, mac);
  const FrameFilter group = FrameFilter(any).byte_is(kDestination, kGroup, kGroup);
  const bool is_paired = ways.merging_end != 0;
  const int ipv4 = is_paired && ways.merges == Merges::kAll ? ways.merging_end : ways.port;
  const int ipv6 = is_paired && ways.merges != Merges::kNothing ? ways.merging_end : ways.port;
  return {take(1, add_ipv4(own), RuleAct::kSend, ipv4),
          take(2, add_ipv6(own), RuleAct::kSend, ipv6),
          take(3, add_v1(own), RuleAct::kSend, ways.port),
          take(4, add_ipv4(group), RuleAct::kSend, ipv4),
          take(5, add_ipv6(group), RuleAct::kSend, ipv6)};
}

namespace {

// RoCE v2 to the adapter or a group, and nothing else.
std::vector<TrafficRule> only_v2(const MacBytes& mac, int to) {
  std::vector<TrafficRule> rules = {drop_all(kDrops, 1)};
  for (const TrafficRule& rule :
       rules_to_guest(mac, {.port = 0, .merging_end = to, .merges = Merges::kAll})) {
    if (rule.to != 0) rules.push_back(rule);
  }
  return rules;
}

TrafficRule fill(std::uint32_t number, const FrameFilter& filter, std::uint32_t udp, int to) {
  TrafficRule rule =
      take(number, FrameFilter(filter).half_is(udp + kChecksum, 0), RuleAct::kSend, to);
  rule.preference = kFills;
  rule.checksum_at = udp + kChecksum - kNetwork;
  return rule;
}

}  // namespace

std::vector<TrafficRule> rules_of_filling_end(const MacBytes& mac, int filling_end) {
  const FrameFilter any = FrameFilter().has_no_vlan();
  const FrameFilter own = FrameFilter(any).mac_is(kDestination, mac);
  const FrameFilter group = FrameFilter(any).byte_is(kDestination, kGroup, kGroup);
  std::vector<TrafficRule> rules = only_v2(mac, filling_end);
  rules.push_back(fill(1, add_ipv4(own), kUdpOverIpv4, filling_end));
  rules.push_back(fill(2, add_ipv6(own), kUdpOverIpv6, filling_end));
  rules.push_back(fill(4, add_ipv4(group), kUdpOverIpv4, filling_end));
  rules.push_back(fill(5, add_ipv6(group), kUdpOverIpv6, filling_end));
  return rules;
}

std::vector<TrafficRule> rules_of_merging_end(const MacBytes& mac, int port) {
  return only_v2(mac, port);
}

std::vector<TrafficRule> rules_of_port(const MacBytes& mac, int guest_tap) {
  // The first, so that at no time the others are there without it.
  std::vector<TrafficRule> rules = {drop_all(kDrops, 1)};
  if (guest_tap == 0) return rules;
  const FrameFilter own = FrameFilter().has_no_tag().mac_is(kSource, mac);
  rules.push_back(take(1, add_ipv4(own), RuleAct::kReceive, guest_tap));
  rules.push_back(take(2, add_ipv6(own), RuleAct::kReceive, guest_tap));
  rules.push_back(take(3, add_v1(own), RuleAct::kReceive, guest_tap));
  return rules;
}

namespace {

FrameFilter add_arp(FrameFilter filter) {
  return filter.half_is(kType, ETH_P_ARP);
}

// Of messages of the kind, as RFC 4861 demands.
FrameFilter add_neighbour(FrameFilter filter, std::uint8_t kind) {
  filter.half_is(kType, ETH_P_IPV6).byte_is(kNetwork, 0x60, 0xF0);
  filter.byte_is(kNetwork + 6, IPPROTO_ICMPV6).byte_is(kNetwork + 7, kOnLinkHops);
  return filter.byte_is(kIcmpOverIpv6, kind);
}

// The same, with the MAC address that the engine tells of, in the one option that it writes.
FrameFilter add_own_neighbour(FrameFilter filter, std::uint8_t kind, const MacBytes& mac) {
  const std::uint16_t option = kind == kSolicitation ? kSourceMacOption : kTargetMacOption;
  filter.half_is(kNetwork + 4, kNeighbourBytes).half_is(kOptionOfNeighbour, option);
  return add_neighbour(filter, kind).mac_is(kOptionOfNeighbour + 2, mac);
}

TrafficRule drop_all_but(std::span<const FrameFilter> filters) {
  TrafficRule rule = drop_all(kDrops, 1);
  rule.program = FrameFilter::drop_all_but(filters);
  return rule;
}

}  // namespace

TrafficRule rules_of_service(const MacBytes& mac) {
  const FrameFilter own = FrameFilter().has_no_tag().mac_is(kSource, mac);
  const std::array filters{add_ipv4(own),
                           add_ipv6(own),
                           add_v1(own),
                           add_arp(own).mac_is(kArpSender, mac),
                           add_own_neighbour(own, kSolicitation, mac),
                           add_own_neighbour(own, kAdvertisement, mac)};
  return drop_all_but(filters);
}

TrafficRule rules_to_service(const MacBytes& mac) {
  const FrameFilter any = FrameFilter().has_no_vlan();
  const FrameFilter own = FrameFilter(any).mac_is(kDestination, mac);
  const FrameFilter group = FrameFilter(any).byte_is(kDestination, kGroup, kGroup);
  const std::array filters{add_ipv4(own),
                           add_ipv6(own),
                           add_v1(own),
                           add_arp(own),
                           add_neighbour(own, kSolicitation),
                           add_neighbour(own, kAdvertisement),
                           add_ipv4(group),
                           add_ipv6(group),
                           add_arp(group),
                           add_neighbour(group, kSolicitation),
                           add_neighbour(group, kAdvertisement)};
  return drop_all_but(filters);
}

}  // namespace paravane::ethernet
