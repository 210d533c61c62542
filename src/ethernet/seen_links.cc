#include "ethernet/seen_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ethernet/roce_port.h"

namespace paravane::ethernet {

Status SeenLinks::look() {
  auto found = links_.list();
  if (!found) return std::unexpected(found.error());
  auto addresses = links_.addresses();
  if (!addresses) return std::unexpected(addresses.error());
  addresses_ = std::move(*addresses);
  auto ipv4 = links_.ipv4_addresses();
  if (!ipv4) return std::unexpected(ipv4.error());
  ipv4_ = std::move(*ipv4);
  found_.clear();
  for (Link& link : *found) {
    std::string name = link.name;
    found_.emplace(std::move(name), std::move(link));
  }
  return {};
}

Status SeenLinks::look_at_vlans() {
  auto vlans = links_.port_vlans();
  // A kernel that filters no VLANs may have none to tell of.
  if (!vlans && vlans.error().code != Errc::kUnsupported) return std::unexpected(vlans.error());
  vlans_ = vlans ? std::move(*vlans) : std::map<int, PortVlans>();
  return {};
}

const Link* SeenLinks::find(std::string_view name) const {
  const auto found = found_.find(name);
  return found == found_.end() ? nullptr : &found->second;
}

const Link* SeenLinks::find(int index) const {
  const auto found = std::ranges::find_if(
      found_, [index](const auto& link) { return link.second.index == index; });
  return found == found_.end() ? nullptr : &found->second;
}

bool SeenLinks::is_ours(const Link& link) const {
  // A RoCE port is another's to make and remove.
  if (!link.mark.starts_with(mark_) || link.mark.ends_with(kRocePortEnd)) return false;
  return link.kind == "bridge" || link.kind == "tun" || is_end_of_pair(link);
}

// Whose mark has the name of the pair's far end, which a NIC's would not.
bool SeenLinks::is_end_of_pair(const Link& link) const {
  std::string_view pair = std::string_view(link.mark).substr(mark_.size());
  const bool is_port = pair.ends_with(kPortOfPair);
  if (is_port) pair.remove_suffix(1);
  return link.kind == "veth" && (is_port ? link.name.starts_with(pair) : link.name == pair);
}

std::span<const std::string> SeenLinks::addresses(int index) const {
  const auto found = addresses_.find(index);
  return found == addresses_.end() ? std::span<const std::string>() : found->second;
}

std::span<const Ipv4Interface> SeenLinks::ipv4(int index) const {
  const auto found = ipv4_.find(index);
  return found == ipv4_.end() ? std::span<const Ipv4Interface>() : found->second;
}

PortVlans SeenLinks::vlans(int index) const {
  const auto found = vlans_.find(index);
  return found == vlans_.end() ? PortVlans() : found->second;
}

std::optional<std::string> SeenLinks::why_not_uplink(const Link& nic) const {
  if (nic.loopback || !nic.ethernet) return "it is not an Ethernet interface";
  if (nic.kind == "bridge") return "it is a bridge";
  if (is_ours(nic)) return "it was created by Paravane";
  if (nic.master == 0) return std::nullopt;
  const Link* master = find(nic.master);
  if (master != nullptr && is_ours(*master)) return std::nullopt;
  return fmt::format("it belongs to {}, which Paravane does not manage",
                     master == nullptr ? "something" : master->name);
}

std::optional<std::string> SeenLinks::why_not_address(const Link& link,
                                                      const Ipv4Interface& address) const {
  for (const auto& [index, others] : ipv4_) {
    for (const Ipv4Interface& other : others) {
      if (index == link.index || !other.overlaps(address)) continue;
      const Link* holder = find(index);
      return fmt::format("its network {} is already used by {}, which has {}: no address is set",
                         format_ipv4(address), holder == nullptr ? "another" : holder->name,
                         format_ipv4(other));
    }
  }
  return std::nullopt;
}

}  // namespace paravane::ethernet
