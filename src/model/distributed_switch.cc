#include "model/distributed_switch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <span>

#include "base/nearest_name.h"
#include "model/interface_name.h"
#include "model/vm.h"

namespace paravane::model {
namespace {

Status check_named(std::string_view what, std::string_view name) {
  if (const Status good = check_name(name); !good) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} \"{}\": {}", what, name, good.error().message));
  }
  return {};
}

Error not_a_range(std::string_view vlan) {
  return {Errc::kInvalidArgument,
          fmt::format("VLAN {}: a port group has one VLAN, or all for guest VLAN tagging, which is "
                      "only for adapters without RDMA. Use a number from 1 to {}, 0 for untagged, "
                      "or {} for guest VLAN tagging",
                      vlan, kMaxVlan, kGuestVlans)};
}

Status check_uplink_name(const std::string& uplink) {
  if (const Status good = check_interface_name(uplink); !good) {
    return fail(Errc::kInvalidArgument,
                fmt::format("uplink \"{}\": {}", uplink, good.error().message));
  }
  if (const std::size_t comma = uplink.find(','); comma != std::string::npos) {
    return fail(Errc::kInvalidArgument,
                fmt::format("uplink \"{}\": a name cannot have a comma. Name each uplink of a team "
                            "separately, the active one first: --uplink {} --uplink {}",
                            uplink, uplink.substr(0, comma), uplink.substr(comma + 1)));
  }
  if (uplink != "lo") return {};
  return fail(Errc::kInvalidArgument, "uplink lo: the loopback interface cannot be an uplink");
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

Status check_interface_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxInterfaceName && name != "." &&
                    name != ".." && std::ranges::none_of(name, [](char c) {
                      return c == '/' || c == ':' || c == '\0' || is_blank(c);
                    });
  if (good) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("an interface name must be 1 to {} characters, without spaces, slashes or colons",
                  kMaxInterfaceName));
}

Status check_host_name(std::string_view name) {
  return check_named("host", name);
}

Status check_mtu(std::uint32_t mtu) {
  if (mtu >= kMinMtu && mtu <= kMaxMtu) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("MTU {} is out of range: {} to {}", mtu, kMinMtu, kMaxMtu));
}

Status check_switch_host(const SwitchHost& host) {
  if (Status good = check_host_name(host.host); !good) return good;
  if (host.uplink.empty() && host.standby.empty()) return {};
  if (host.uplink.empty()) {
    return fail(Errc::kInvalidArgument, "standby uplinks need an uplink that they stand by for");
  }
  if (host.standby.size() >= kMaxTeam) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a host can have at most {} uplinks in a switch", kMaxTeam));
  }
  if (Status good = check_uplink_name(host.uplink); !good) return good;
  for (std::size_t i = 0; i < host.standby.size(); ++i) {
    const std::string& standby = host.standby[i];
    if (Status good = check_uplink_name(standby); !good) return good;
    const auto before = std::span(host.standby).first(i);
    if (standby != host.uplink && std::ranges::find(before, standby) == before.end()) continue;
    return fail(Errc::kInvalidArgument, fmt::format("uplink {} is named twice", standby));
  }
  return {};
}

Status check_switch(const DistributedSwitch& vds) {
  if (Status good = check_named("switch", vds.name); !good) return good;
  if (Status good = check_mtu(vds.mtu); !good) return good;
  if (vds.hosts.size() > kMaxSwitchHosts) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a switch can have at most {} hosts", kMaxSwitchHosts));
  }
  for (const auto& [host, uplink] : vds.hosts) {
    if (Status good = check_switch_host(*member_of(vds, host)); !good) return good;
  }
  for (const auto& [host, uplinks] : vds.standby) {
    if (vds.hosts.contains(host) && !uplinks.empty()) continue;
    return fail(Errc::kInvalidArgument, "standby uplinks of a host that is not in the switch");
  }
  return {};
}

std::string_view roce_word(bool native) {
  return native ? "native" : "off";
}

Result<bool> parse_roce(std::string_view text) {
  if (text == roce_word(true)) return true;
  if (text == roce_word(false)) return false;
  return fail(Errc::kInvalidArgument, "roce must be native or off");
}

std::string_view routed_word(bool routed) {
  return routed ? "on" : "off";
}

Result<bool> parse_routed(std::string_view text) {
  if (text == routed_word(true)) return true;
  if (text == routed_word(false)) return false;
  return fail(Errc::kInvalidArgument, "routed must be on or off");
}

PortGroup changed(PortGroup group, const PortGroupChange& change) {
  group.native_roce = change.native_roce.value_or(group.native_roce);
  group.routed = change.routed.value_or(group.routed);
  return group;
}

Status check_port_group(const PortGroup& group) {
  if (Status good = check_named("port group", group.name); !good) return good;
  if (group.name == kNoPortGroup) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a port group cannot be named \"{}\", which means no port group",
                            kNoPortGroup));
  }
  if (Status good = check_named("switch", group.vds); !good) return good;
  if (group.vlan <= kMaxVlan) return {};
  if (group.vlan == kGuestVlans && !group.native_roce) return {};
  if (group.vlan == kGuestVlans) {
    return fail(Errc::kInvalidArgument,
                fmt::format("port group {}: VLAN {} (guest VLAN tagging) is only for adapters "
                            "without RDMA, because the GIDs of a PVRDMA adapter belong to a single "
                            "VLAN. Create a port group for each VLAN with RDMA",
                            group.name, kGuestVlans));
  }
  return fail(
      Errc::kInvalidArgument,
      fmt::format("VLAN {} is out of range: 1 to {}, 0 for untagged, or {} for guest VLAN tagging",
                  group.vlan, kMaxVlan, kGuestVlans));
}

Result<std::uint32_t> parse_vlan(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool is_range =
      !text.empty() && is_digit(text.front()) && text.find_first_of("-,") != std::string_view::npos;
  if (text == "trunk" || text == "all" || is_range) return std::unexpected(not_a_range(text));
  std::uint32_t vlan = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), vlan);
  if (error == std::errc() && end == text.data() + text.size()) return vlan;
  return fail(
      Errc::kInvalidArgument,
      fmt::format("VLAN {} is not valid: use a whole number from 1 to {}, or 0 for untagged", text,
                  kMaxVlan));
}

std::vector<std::string> uplinks_of(const SwitchHost& host) {
  if (host.uplink.empty()) return {};
  std::vector<std::string> uplinks{host.uplink};
  uplinks.insert(uplinks.end(), host.standby.begin(), host.standby.end());
  return uplinks;
}

std::vector<std::string> uplinks_of(const DistributedSwitch& vds, const std::string& host) {
  const auto member = member_of(vds, host);
  return member ? uplinks_of(*member) : std::vector<std::string>();
}

std::optional<SwitchHost> member_of(const DistributedSwitch& vds, const std::string& host) {
  const auto member = vds.hosts.find(host);
  if (member == vds.hosts.end()) return std::nullopt;
  SwitchHost found{.host = host, .uplink = member->second};
  if (const auto team = vds.standby.find(host); team != vds.standby.end()) {
    found.standby = team->second;
  }
  return found;
}

void put_member(DistributedSwitch& vds, const SwitchHost& member) {
  vds.hosts[member.host] = member.uplink;
  if (member.standby.empty()) {
    vds.standby.erase(member.host);
  } else {
    vds.standby[member.host] = member.standby;
  }
}

bool erase_member(DistributedSwitch& vds, const std::string& host) {
  vds.standby.erase(host);
  return vds.hosts.erase(host) != 0;
}

void erase_other_members(DistributedSwitch& vds, const std::string& host) {
  std::erase_if(vds.hosts, [&host](const auto& entry) { return entry.first != host; });
  std::erase_if(vds.standby, [&host](const auto& entry) { return entry.first != host; });
}

bool rename_member(DistributedSwitch& vds, const std::string& host, const std::string& name) {
  auto member = member_of(vds, host);
  if (!member) return false;
  erase_member(vds, host);
  member->host = name;
  put_member(vds, *member);
  return true;
}

ApiResult<DistributedSwitch> find_switch(const Network& network, const std::string& name) {
  const auto found = network.switches.find(name);
  if (found != network.switches.end()) return found->second;
  return refuse(ApiErrorCode::kNotFound, fmt::format("switch {} does not exist", name),
                do_you_mean(name, std::views::keys(network.switches)) +
                    "List the switches with: paravane vds list");
}

ApiResult<PortGroup> find_port_group(const Network& network, const std::string& name) {
  const auto found = network.port_groups.find(name);
  if (found != network.port_groups.end()) return found->second;
  return refuse(ApiErrorCode::kNotFound, fmt::format("port group {} does not exist", name),
                do_you_mean(name, std::views::keys(network.port_groups)) +
                    "List the port groups with: paravane portgroup list");
}

ApiResult<void> check_new_switch(const Network& network, const DistributedSwitch& vds) {
  if (network.switches.contains(vds.name)) {
    return refuse(ApiErrorCode::kExists, fmt::format("switch {} already exists", vds.name),
                  "Choose another name, or delete that switch first.");
  }
  for (const auto& [name, other] : network.switches) {
    if (bridge_name(name) != bridge_name(vds.name)) continue;
    return refuse(
        ApiErrorCode::kExists,
        fmt::format("the bridge name of switch {} would be {}, which switch {} already uses",
                    vds.name, bridge_name(name), name),
        "Choose another name.");
  }
  if (network.switches.size() >= kMaxSwitches) {
    return refuse(ApiErrorCode::kLimitReached,
                  fmt::format("the limit of {} switches is reached", kMaxSwitches),
                  "Delete a switch first.");
  }
  for (const auto& [host, uplink] : vds.hosts) {
    if (auto free = check_uplink(network, vds.name, *member_of(vds, host)); !free) return free;
  }
  return {};
}

ApiResult<void> check_new_port_group(const Network& network, const PortGroup& group) {
  if (network.port_groups.contains(group.name)) {
    return refuse(ApiErrorCode::kExists, fmt::format("port group {} already exists", group.name),
                  "Choose another name, or delete that port group first.");
  }
  if (network.port_groups.size() >= kMaxPortGroups) {
    return refuse(ApiErrorCode::kLimitReached,
                  fmt::format("the limit of {} port groups is reached", kMaxPortGroups),
                  "Delete a port group first.");
  }
  const auto vds = find_switch(network, group.vds);
  return vds ? ApiResult<void>() : std::unexpected(vds.error());
}

ApiResult<void> check_new_host(const Network& network, const std::string& vds,
                               const SwitchHost& host) {
  const auto found = find_switch(network, vds);
  if (!found) return std::unexpected(found.error());
  if (found->hosts.contains(host.host)) {
    return refuse(ApiErrorCode::kExists,
                  fmt::format("host {} is already in switch {}", host.host, vds),
                  "Change its uplink with: paravane vds uplink");
  }
  if (found->hosts.size() >= kMaxSwitchHosts) {
    return refuse(ApiErrorCode::kLimitReached,
                  fmt::format("switch {} already has {} hosts", vds, kMaxSwitchHosts));
  }
  return check_uplink(network, vds, host);
}

ApiResult<void> check_uplink(const Network& network, const std::string& vds,
                             const SwitchHost& host) {
  if (host.uplink.empty()) return {};
  for (const auto& [name, other] : network.switches) {
    if (name == vds) continue;
    for (const std::string& taken : uplinks_of(other, host.host)) {
      const bool is_wanted = taken == host.uplink || std::ranges::count(host.standby, taken) != 0;
      if (!is_wanted) continue;
      return refuse(ApiErrorCode::kInUse,
                    fmt::format("{} of host {} is the uplink of switch {}", taken, host.host, name),
                    fmt::format("Choose another NIC, or clear that uplink first: paravane vds "
                                "uplink {} none --host {}",
                                name, host.host));
    }
  }
  return {};
}

ApiResult<void> check_switch_unused(const Network& network, const std::string& vds) {
  const auto used =
      std::ranges::find_if(network.port_groups, [&](const auto& g) { return g.second.vds == vds; });
  if (used == network.port_groups.end()) return {};
  return refuse(
      ApiErrorCode::kInUse, fmt::format("switch {} has port group {}", vds, used->first),
      fmt::format("Delete its port groups first: paravane portgroup delete {}", used->first));
}

std::string_view to_string(SwitchForm form) {
  switch (form) {
    case SwitchForm::kNone: return "none";
    case SwitchForm::kVlanAware: return "vlan-aware";
    case SwitchForm::kPlain: return "plain";
  }
  return "none";
}

std::optional<SwitchForm> parse_switch_form(std::string_view text) {
  for (const SwitchForm form : {SwitchForm::kNone, SwitchForm::kVlanAware, SwitchForm::kPlain}) {
    if (to_string(form) == text) return form;
  }
  return std::nullopt;
}

}  // namespace paravane::model
