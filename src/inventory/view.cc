#include "inventory/view.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "control/json_reader.h"
#include "control/network_json.h"
#include "control/segment.h"
#include "control/vm.h"
#include "control/vm_json.h"

namespace paravane::inventory {

using control::JsonReader;
using nlohmann::json;

namespace {

constexpr std::string_view kSwitches = "vds/";
constexpr std::string_view kPortGroups = "portgroups/";

// Who a claim is up against.
struct Best {
  std::int64_t create_revision = 0;
  GidOwner owner;
};

// Keys of different hosts are never made at the same revision; the rest is for one host's.
bool is_older(const Best& a, const Best& b) {
  return std::tie(a.create_revision, a.owner.host, a.owner.adapter) <
         std::tie(b.create_revision, b.owner.host, b.owner.adapter);
}

template <typename Key>
void offer(std::map<Key, Best>& best, const Key& key, Best claim) {
  const auto [found, first] = best.try_emplace(key, claim);
  if (!first && is_older(claim, found->second)) found->second = std::move(claim);
}

bool is_address(const std::string& text) {
  std::array<std::uint8_t, 16> ignored{};
  return ::inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

bool is_printable(std::string_view text, std::size_t most) {
  return text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Keys that a newer program adds are no error.
std::optional<HostInfo> read_info(const json& value) {
  JsonReader reader(value, "info");
  HostInfo info;
  info.address = reader.need_text("address");
  info.port = static_cast<std::uint16_t>(reader.need_number("port", 65535));
  info.version = reader.text("version").value_or("");
  if (!reader.finish_ignoring_unknown() || !is_address(info.address) || info.port == 0) {
    return std::nullopt;
  }
  if (!is_printable(info.version, control::kMaxNameLength)) return std::nullopt;
  return info;
}

std::optional<AdapterInfo> read_adapter(const json& value) {
  JsonReader reader(value, "adapter");
  const auto mac = control::parse_mac(reader.need_text("mac"));
  AdapterInfo adapter;
  adapter.port_group = reader.text("port_group").value_or("");
  if (!reader.finish_ignoring_unknown() || !mac || !control::is_unicast(*mac)) return std::nullopt;
  if (!is_printable(adapter.port_group, 2 * control::kMaxNameLength + 1)) return std::nullopt;
  adapter.mac = *mac;
  return adapter;
}

std::optional<AdapterId> read_claim(const json& value) {
  JsonReader reader(value, "gid");
  const auto adapter = parse_adapter(reader.need_text("adapter"));
  if (!reader.finish_ignoring_unknown()) return std::nullopt;
  return adapter;
}

}  // namespace

std::string print_info(const HostInfo& info) {
  return json{{"address", info.address}, {"port", info.port}, {"version", info.version}}.dump();
}

std::string print_adapter(const AdapterInfo& adapter) {
  json value = {{"mac", control::format_mac(adapter.mac)}};
  if (!adapter.port_group.empty()) value["port_group"] = adapter.port_group;
  return value.dump();
}

std::string print_claim(const AdapterId& adapter) {
  return json{{"adapter", format_adapter(adapter)}}.dump();
}

std::string switch_document(const std::string& name) {
  return std::string(kSwitches) + name;
}

std::string port_group_document(const std::string& name) {
  return std::string(kPortGroups) + name;
}

std::string print_switch(const control::DistributedSwitch& vds) {
  return control::to_json(vds).dump();
}

std::string print_port_group(const control::PortGroup& group) {
  return control::to_json(group).dump();
}

std::optional<GidOwner> View::owner(const GidId& id) const {
  const auto found = gids.find(id);
  if (found == gids.end()) return std::nullopt;
  return found->second;
}

std::string Records::put(KeyValue&& pair) {
  if (pair.key.starts_with(kConfigPrefix)) {
    put_document(std::move(pair));
    return {};
  }
  const auto name = host_of_key(pair.key);
  if (!name || (!hosts_.contains(*name) && hosts_.size() >= View::kMaxHosts)) {
    ++odd_;
    return {};
  }
  HostRecords& host = hosts_[*name];
  if (!host.oversized) {
    const auto key = parse_host_key(pair.key);
    if (!key || !put_host_key(host, *key, pair)) ++host.odd;
    host.oversized = host.size() + host.odd > View::kMaxKeysPerHost;
    if (!host.oversized) return {};
    host = {.info = {}, .adapters = {}, .gids = {}, .odd = 0, .oversized = true};
  }
  return end_of_prefix(host_prefix(*name));
}

// An odd value takes the place of what stood there before: nothing stands there now.
bool Records::put_host_key(HostRecords& host, const HostKey& key, const KeyValue& pair) {
  erase_host_key(host, key);
  if (pair.value.size() > View::kMaxHostValue) return false;
  const Result<json> value = control::parse_json(pair.value);
  if (!value || !value->is_object()) return false;
  if (key.kind == HostKey::Kind::kInfo) {
    host.info = read_info(*value);
    return host.info.has_value();
  }
  if (key.kind == HostKey::Kind::kAdapter) {
    auto adapter = read_adapter(*value);
    if (!adapter) return false;
    host.adapters[key.adapter] = {std::move(*adapter), pair.create_revision};
    return true;
  }
  auto claim = read_claim(*value);
  if (!claim) return false;
  host.gids[key.gid] = {std::move(*claim), pair.create_revision};
  return true;
}

void Records::erase_host_key(HostRecords& host, const HostKey& key) {
  switch (key.kind) {
    case HostKey::Kind::kInfo: host.info.reset(); return;
    case HostKey::Kind::kAdapter: host.adapters.erase(key.adapter); return;
    case HostKey::Kind::kGid: host.gids.erase(key.gid); return;
  }
}

void Records::put_document(KeyValue&& pair) {
  std::string name = pair.key.substr(kConfigPrefix.size());
  erase_document(name);
  const bool good = !name.empty() && pair.key.size() <= kMaxKey && is_printable(name, kMaxKey) &&
                    documents_.size() < View::kMaxDocuments &&
                    pair.value.size() <= View::kMaxDocument;
  const Result<json> value =
      good ? control::parse_json(pair.value) : fail(Errc::kInvalidArgument, "odd");
  if (value && read_network_document(name, *value)) {
    documents_[std::move(name)] = std::move(pair.value);
  } else {
    ++odd_;
  }
}

void Records::erase_document(const std::string& name) {
  documents_.erase(name);
  if (name.starts_with(kSwitches)) network_.switches.erase(name.substr(kSwitches.size()));
  if (name.starts_with(kPortGroups)) network_.port_groups.erase(name.substr(kPortGroups.size()));
}

bool Records::read_network_document(const std::string& name, const json& value) {
  if (name.starts_with(kSwitches)) {
    auto vds = control::kept_switch_from_json(value);
    if (!vds || name != switch_document(vds->name)) return false;
    if (network_.switches.size() >= control::kMaxSwitches) return false;
    network_.switches[vds->name] = std::move(*vds);
  } else if (name.starts_with(kPortGroups)) {
    auto group = control::kept_port_group_from_json(value);
    if (!group || name != port_group_document(group->name)) return false;
    if (network_.port_groups.size() >= control::kMaxPortGroups) return false;
    network_.port_groups[group->name] = std::move(*group);
  }
  return true;
}

void Records::erase(const std::string& key) {
  if (key.starts_with(kConfigPrefix)) {
    erase_document(key.substr(kConfigPrefix.size()));
    return;
  }
  const auto parsed = parse_host_key(key);
  if (!parsed) return;
  const auto host = hosts_.find(parsed->host);
  if (host == hosts_.end() || host->second.oversized) return;
  erase_host_key(host->second, *parsed);
  const HostRecords& left = host->second;
  if (!left.info && left.size() == 0 && left.odd == 0) hosts_.erase(host);
}

std::shared_ptr<const View> Records::build() const {
  auto view = std::make_shared<View>();
  view->documents = documents_;
  view->network = network_;
  std::erase_if(view->network.port_groups, [this](const auto& group) {
    return !network_.switches.contains(group.second.vds);
  });
  view->odd_keys = odd_;
  for (const auto& [name, records] : hosts_) {
    view->odd_keys += records.odd;
    if (records.oversized) view->oversized_hosts.push_back(name);
    Host& host = view->hosts[name];
    host.info = records.info;
    for (const auto& [id, claim] : records.adapters) host.adapters[id] = claim.value;
  }
  settle_macs(*view);
  settle_gids(*view);
  std::ranges::sort(view->lost);
  return view;
}

void Records::settle_macs(View& view) const {
  std::map<control::MacAddress, Best> best;
  for (const auto& [name, host] : hosts_) {
    for (const auto& [id, claim] : host.adapters) {
      offer(best, claim.value.mac, {claim.create_revision, {name, id}});
    }
  }
  for (const auto& [mac, winner] : best) view.macs[mac] = winner.owner;
  for (const auto& [name, host] : hosts_) {
    for (const auto& [id, claim] : host.adapters) {
      const GidOwner& owner = view.macs.at(claim.value.mac);
      if (owner == GidOwner{name, id}) continue;
      view.lost.push_back({name, adapter_key(id),
                           fmt::format("MAC address {} belongs to adapter {} of host {}",
                                       control::format_mac(claim.value.mac),
                                       format_adapter(owner.adapter), owner.host)});
    }
  }
}

std::string Records::problem_of(const View& view, const std::string& host, const GidId& gid,
                                const AdapterId& adapter) {
  const auto& adapters = view.hosts.at(host).adapters;
  const auto there = adapters.find(adapter);
  const std::string name = format_adapter(adapter);
  if (there == adapters.end()) return fmt::format("there is no adapter {}", name);
  const std::string& port_group = there->second.port_group;
  if (port_group.empty()) return fmt::format("adapter {} is in no port group", name);
  const auto segment = control::segment_number(view.network, port_group);
  if (!segment) return fmt::format("there is no port group {}", port_group);
  if (*segment == gid.segment) return {};
  return fmt::format("adapter {} is in port group {}, which is another network", name, port_group);
}

void Records::settle_gids(View& view) const {
  std::map<std::array<std::uint8_t, 16>, GidOwner> reserved;
  for (const auto& [mac, owner] : view.macs) reserved[link_local_gid(mac)] = owner;
  const auto judge = [&](const std::string& host, const GidId& gid, const AdapterId& adapter) {
    const auto keeper = reserved.find(gid.gid);
    if (keeper == reserved.end() || keeper->second == GidOwner{host, adapter}) {
      return problem_of(view, host, gid, adapter);
    }
    return fmt::format("it is made from the MAC address of adapter {} of host {}",
                       format_adapter(keeper->second.adapter), keeper->second.host);
  };
  std::map<GidId, Best> best;
  for (const auto& [name, host] : hosts_) {
    for (const auto& [gid, claim] : host.gids) {
      std::string problem = judge(name, gid, claim.value);
      if (problem.empty()) {
        offer(best, gid, {claim.create_revision, {name, claim.value}});
      } else {
        view.lost.push_back({name, gid_key(gid), std::move(problem)});
      }
    }
  }
  for (const auto& [gid, winner] : best) {
    view.gids[gid] = winner.owner;
    view.hosts[winner.owner.host].gids[gid] = winner.owner.adapter;
  }
  for (const auto& [name, host] : hosts_) {
    for (const auto& [gid, claim] : host.gids) {
      const auto owner = view.gids.find(gid);
      if (owner == view.gids.end() || owner->second == GidOwner{name, claim.value}) continue;
      if (!judge(name, gid, claim.value).empty()) continue;
      view.lost.push_back(
          {name, gid_key(gid), fmt::format("host {} has claimed it before", owner->second.host)});
    }
  }
}

}  // namespace paravane::inventory
