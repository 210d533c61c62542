#include "inventory/view.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "api/network_json.h"
#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/fingerprint.h"
#include "model/segment.h"
#include "model/vm.h"

namespace paravane::inventory {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxReason = 256;  // why a host has no channel

constexpr std::string_view kSwitches = "vds/";
constexpr std::string_view kPortGroups = "portgroups/";

// The value of a key that says all.
constexpr std::string_view kNothingMore = "{}";

// Who a claim is up against.
template <typename Age>
struct Best {
  Age age{};
  GidOwner owner;
};

// Keys of different hosts are never made at the same revision; the rest is for one host's.
template <typename Age>
bool is_older(const Best<Age>& a, const Best<Age>& b) {
  return std::tie(a.age, a.owner.host, a.owner.adapter) <
         std::tie(b.age, b.owner.host, b.owner.adapter);
}

template <typename Key, typename Age>
void offer(std::map<Key, Best<Age>>& best, const Key& key, Best<Age> claim) {
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
  info.closed = reader.text("closed").value_or("");
  info.closed_by = model::parse_closed_by(reader.text("closed_by").value_or(""));
  info.key = reader.text("key").value_or("");
  info.generation = reader.number("generation").value_or(0);
  info.mark = reader.text("mark").value_or("");
  info.has_infiniband = reader.boolean("infiniband").value_or(false);
  if (!reader.finish_ignoring_unknown() || !is_address(info.address)) return std::nullopt;
  if (!is_printable(info.version, model::kMaxNameLength)) return std::nullopt;
  if (!is_printable(info.closed, kMaxReason)) return std::nullopt;
  if (info.port == 0 && info.closed.empty()) return std::nullopt;
  if (!info.key.empty() && !model::is_fingerprint(info.key)) return std::nullopt;
  if (!is_printable(info.mark, Generation::kMarkDigits)) return std::nullopt;
  return info;
}

}  // namespace

void say_info(OwnKeys& own, const HostInfo& info) {
  json value = {{"address", info.address}, {"port", info.port}, {"version", info.version}};
  if (!info.closed.empty()) value["closed"] = info.closed.substr(0, kMaxReason);
  if (info.closed_by != model::ClosedBy{}) value["closed_by"] = model::print(info.closed_by);
  if (!info.key.empty()) value["key"] = info.key;
  if (info.generation != 0) value["generation"] = info.generation;
  if (!info.mark.empty()) value["mark"] = info.mark;
  if (info.has_infiniband) value["infiniband"] = true;
  own[std::string(kInfoKey)] = value.dump();
}

void say_adapter(OwnKeys& own, const model::AdapterName& id, const AdapterInfo& adapter) {
  own[mac_key(id, adapter.mac)] = kNothingMore;
  if (!adapter.port_group.empty()) own[port_group_key(id, adapter.port_group)] = kNothingMore;
}

void say_gid(OwnKeys& own, const GidId& gid, const model::AdapterName& adapter) {
  own[gid_key(gid, adapter)] = kNothingMore;
}

void say_unlinked_gid(OwnKeys& own, const GidId& gid, const model::AdapterName& adapter) {
  own[unlinked_gid_key(gid, adapter)] = kNothingMore;
}

std::string switch_document(const std::string& name) {
  return std::string(kSwitches) + name;
}

std::string port_group_document(const std::string& name) {
  return std::string(kPortGroups) + name;
}

std::string print_switch(const model::DistributedSwitch& vds) {
  return api::to_json(vds).dump();
}

std::string print_port_group(const model::PortGroup& group) {
  return api::to_json(group).dump();
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
    const std::size_t hash = std::hash<std::string>{}(pair.key);
    host.odd.erase(hash);
    if (!key || !put_host_key(host, *key, pair)) host.odd.insert(hash);
    host.oversized = host.size() > View::kMaxKeysPerHost || pair.key.size() > View::kMaxHostKey ||
                     pair.value.size() > View::kMaxHostValue;
    if (!host.oversized) return {};
    host = {};
    host.oversized = true;
  }
  return end_of_prefix(host_prefix(*name));
}

bool Records::put_host_key(HostRecords& host, const HostKey& key, const KeyValue& pair) {
  switch (key.kind) {
    case HostKey::Kind::kInfo: break;
    case HostKey::Kind::kMac: host.macs[{key.adapter, key.mac}] = pair.create_revision; return true;
    case HostKey::Kind::kPortGroup:
      host.port_groups[{key.adapter, key.port_group}] = pair.create_revision;
      return true;
    case HostKey::Kind::kGid: host.gids[{key.gid, key.adapter}] = pair.create_revision; return true;
    case HostKey::Kind::kUnlinkedGid: host.unlinked.emplace(key.gid, key.adapter); return true;
  }
  host.info.reset();  // an odd one takes the place of what stood there before
  const Result<json> value = parse_json(pair.value);
  if (value && value->is_object()) host.info = read_info(*value);
  return host.info.has_value();
}

void Records::erase_host_key(HostRecords& host, const HostKey& key) {
  switch (key.kind) {
    case HostKey::Kind::kInfo: host.info.reset(); return;
    case HostKey::Kind::kMac: host.macs.erase({key.adapter, key.mac}); return;
    case HostKey::Kind::kPortGroup: host.port_groups.erase({key.adapter, key.port_group}); return;
    case HostKey::Kind::kGid: host.gids.erase({key.gid, key.adapter}); return;
    case HostKey::Kind::kUnlinkedGid: host.unlinked.erase({key.gid, key.adapter}); return;
  }
}

void Records::put_document(KeyValue&& pair) {
  std::string name = pair.key.substr(kConfigPrefix.size());
  erase_document(name);
  const bool good = !name.empty() && pair.key.size() <= kMaxKey && is_printable(name, kMaxKey) &&
                    documents_.size() < View::kMaxDocuments &&
                    pair.value.size() <= View::kMaxDocument;
  if (good && read_document(name, pair.value, pair.create_revision)) {
    documents_[std::move(name)] = {.text = std::move(pair.value), .created = pair.create_revision};
  } else {
    ++odd_;
  }
}

void Records::erase_document(const std::string& name) {
  documents_.erase(name);
  if (const auto host = member_of_document(name)) members_.erase(*host);
  if (name == kClusterDocument) {
    authority_.clear();
    generation_ = {};
  }
  if (name.starts_with(kSwitches)) network_.switches.erase(name.substr(kSwitches.size()));
  if (!name.starts_with(kPortGroups)) return;
  network_.port_groups.erase(name.substr(kPortGroups.size()));
  port_groups_created_.erase(name.substr(kPortGroups.size()));
}

bool Records::read_document(const std::string& name, const std::string& text, Revision created) {
  if (const auto host = member_of_document(name)) {
    auto record = parse_member(name, text);
    if (!record || members_.size() >= View::kMaxHosts) return false;
    members_[*host] = std::move(*record);
    return true;
  }
  const Result<json> value = parse_json(text);
  if (value && name == kClusterDocument) return read_cluster_document(*value);
  return value && read_network_document(name, *value, created);
}

bool Records::read_cluster_document(const json& value) {
  if (value.is_object() && value.contains("generation")) {
    auto generation = parse_generation(value.at("generation"));
    if (!generation) return false;
    generation_ = std::move(*generation);
  }
  authority_ = JsonReader(value, "cluster").text("authority").value_or("");
  return true;
}

bool Records::read_network_document(const std::string& name, const json& value, Revision created) {
  if (name.starts_with(kSwitches)) {
    auto vds = api::kept_switch_from_json(value);
    if (!vds || name != switch_document(vds->name)) return false;
    if (network_.switches.size() >= model::kMaxSwitches) return false;
    network_.switches[vds->name] = std::move(*vds);
  } else if (name.starts_with(kPortGroups)) {
    auto group = api::kept_port_group_from_json(value);
    if (!group || name != port_group_document(group->name)) return false;
    if (network_.port_groups.size() >= model::kMaxPortGroups) return false;
    port_groups_created_[group->name] = created;
    network_.port_groups[group->name] = std::move(*group);
  }
  return true;
}

void Records::erase(const std::string& key) {
  if (key.starts_with(kConfigPrefix)) {
    erase_document(key.substr(kConfigPrefix.size()));
    return;
  }
  const auto host = hosts_.find(host_of_key(key).value_or(""));
  if (host == hosts_.end()) return;
  if (host->second.oversized) {
    wants_reading_ = true;
    return;
  }
  host->second.odd.erase(std::hash<std::string>{}(key));
  const auto parsed = parse_host_key(key);
  if (!parsed) return;
  erase_host_key(host->second, *parsed);
  const HostRecords& left = host->second;
  if (!left.info && left.size() == 0) hosts_.erase(host);
}

std::vector<KeyValue> Records::entries() const {
  std::vector<KeyValue> entries;
  const auto add = [&entries](std::string key, std::string value, Revision created,
                              Revision written) {
    entries.push_back({.key = std::move(key),
                       .value = std::move(value),
                       .create_revision = created,
                       .mod_revision = written});
  };
  for (const auto& [name, document] : documents_) {
    add(std::string(kConfigPrefix) + name, document.text, document.created, document.created);
  }
  for (const auto& [name, host] : hosts_) {
    if (!host.info) continue;
    OwnKeys said;
    say_info(said, *host.info);
    for (auto& [key, value] : said) add(host_prefix(name) + key, std::move(value), 0, 0);
  }
  for (const auto& [name, host] : hosts_) {
    const std::string prefix = host_prefix(name);
    const auto claim = [&](const std::string& key, Revision created) {
      add(prefix + key, std::string(kNothingMore), created, created);
    };
    for (const auto& [key, created] : host.macs) claim(mac_key(key.first, key.second), created);
    for (const auto& [key, created] : host.port_groups) {
      claim(port_group_key(key.first, key.second), created);
    }
    for (const auto& [key, created] : host.gids) claim(gid_key(key.first, key.second), created);
    for (const auto& [gid, adapter] : host.unlinked) claim(unlinked_gid_key(gid, adapter), 0);
  }
  return entries;
}

std::shared_ptr<const View> Records::build(std::int64_t revision) const {
  auto view = std::make_shared<View>();
  view->generation = generation_;
  view->revision = revision;
  for (const auto& [name, document] : documents_) view->documents[name] = document.text;
  view->network = network_;
  if (members_.contains(authority_)) view->members = members_;
  std::erase_if(view->network.port_groups, [this](const auto& group) {
    return !network_.switches.contains(group.second.vds);
  });
  view->odd_keys = odd_;
  for (const auto& [name, records] : hosts_) {
    view->odd_keys += records.odd.size();
    if (records.oversized) view->oversized_hosts.push_back(name);
    Host& host = view->hosts[name];
    host.info = records.info;
    show_adapters(records, host);
  }
  settle_macs(*view);
  settle_gids(*view);
  show_unlinked(*view);
  std::ranges::sort(view->lost);
  return view;
}

void Records::show_adapters(const HostRecords& records, Host& host) {
  std::map<model::AdapterName, Revision> oldest;
  for (const auto& [key, created] : records.macs) {
    const auto [found, first] = oldest.try_emplace(key.first, created);
    if (!first && found->second <= created) continue;
    found->second = created;
    host.adapters[key.first].mac = key.second;
  }
  oldest.clear();
  for (const auto& [key, created] : records.port_groups) {
    const auto adapter = host.adapters.find(key.first);
    const auto [found, first] = oldest.try_emplace(key.first, created);
    if (adapter == host.adapters.end() || (!first && found->second <= created)) continue;
    found->second = created;
    adapter->second.port_group = key.second;
  }
}

void Records::settle_macs(View& view) const {
  std::map<model::MacAddress, Best<Revision>> best;
  for (const auto& [name, host] : hosts_) {
    for (const auto& [key, created] : host.macs) {
      offer(best, key.second, {.age = created, .owner = {name, key.first}});
    }
  }
  for (const auto& [mac, winner] : best) view.macs[mac] = winner.owner;
  for (const auto& [name, host] : hosts_) {
    for (const auto& [key, created] : host.macs) {
      const auto& [id, mac] = key;
      const GidOwner& owner = view.macs.at(mac);
      if (owner == GidOwner{name, id}) continue;
      view.lost.push_back(
          {name, mac_key(id, mac),
           fmt::format("MAC address {} belongs to adapter {} of host {}", model::format_mac(mac),
                       format_adapter(owner.adapter), owner.host)});
    }
  }
}

std::map<model::AdapterName, Records::Standing> Records::standings(const model::Network& network,
                                                                   const HostRecords& host) const {
  std::map<model::AdapterName, Standing> all;
  for (const auto& [key, created] : host.macs) {
    const auto [found, first] = all.try_emplace(key.first, Standing{.since = created});
    if (!first) found->second.since = std::min(found->second.since, created);
  }
  for (const auto& [key, created] : host.port_groups) {
    const auto adapter = all.find(key.first);
    const auto segment = model::segment_number(network, key.second);
    if (adapter == all.end() || !segment) continue;
    const Revision since = std::max(adapter->second.since, created);
    const Age age{.counted = std::max(since, port_groups_created_.at(key.second)),
                  .claimed = since};
    const auto [found, first] = adapter->second.networks.try_emplace(*segment, age);
    if (!first) found->second = std::min(found->second, age);
  }
  return all;
}

Result<Records::Age> Records::age_of(const View& view,
                                     const std::map<model::AdapterName, Standing>& all,
                                     const std::string& host, const Claim& claim) {
  const auto& [gid, adapter] = claim.first;
  const std::string name = format_adapter(adapter);
  const auto standing = all.find(adapter);
  if (standing == all.end()) {
    return fail(Errc::kNotFound, fmt::format("there is no adapter {}", name));
  }
  const auto& networks = standing->second.networks;
  if (const auto network = networks.find(gid.segment); network != networks.end()) {
    return Age{.counted = std::max(network->second.counted, claim.second),
               .claimed = std::max(network->second.claimed, claim.second)};
  }
  const std::string& port_group = view.hosts.at(host).adapters.at(adapter).port_group;
  std::string problem = fmt::format(
      "adapter {} is in port group {}, which belongs to another network", name, port_group);
  if (networks.empty()) problem = fmt::format("there is no port group {}", port_group);
  if (port_group.empty()) problem = fmt::format("adapter {} is not in a port group", name);
  return fail(Errc::kNotFound, std::move(problem));
}

// As a claim, it counts only in the network of its adapter.
void Records::show_unlinked(View& view) const {
  for (const auto& [name, host] : hosts_) {
    if (host.unlinked.empty()) continue;
    const auto all = standings(view.network, host);
    for (const auto& [gid, adapter] : host.unlinked) {
      const auto standing = all.find(adapter);
      if (standing == all.end() || !standing->second.networks.contains(gid.segment)) continue;
      view.hosts[name].unlinked[gid] = adapter;
    }
  }
}

void Records::settle_gids(View& view) const {
  std::map<std::array<std::uint8_t, 16>, GidOwner> reserved;
  for (const auto& [mac, owner] : view.macs) reserved[link_local_gid(mac)] = owner;
  std::vector<std::pair<GidId, GidOwner>> good;
  std::map<GidId, Best<Age>> best;
  for (const auto& [name, host] : hosts_) {
    const auto standing = standings(view.network, host);
    for (const Claim& claim : host.gids) {
      const auto& [gid, adapter] = claim.first;
      const GidOwner claimant{name, adapter};
      const auto keeper = reserved.find(gid.gid);
      if (keeper != reserved.end() && keeper->second != claimant) {
        view.lost.push_back(
            {name, gid_key(gid, adapter),
             fmt::format("the GID is derived from the MAC address of adapter {} of host {}",
                         format_adapter(keeper->second.adapter), keeper->second.host)});
      } else if (const auto age = age_of(view, standing, name, claim)) {
        offer(best, gid, {.age = *age, .owner = claimant});
        good.emplace_back(gid, claimant);
      } else {
        view.lost.push_back({name, gid_key(gid, adapter), age.error().message});
      }
    }
  }
  for (const auto& [gid, winner] : best) {
    view.gids[gid] = winner.owner;
    view.hosts[winner.owner.host].gids[gid] = winner.owner.adapter;
  }
  for (const auto& [gid, claimant] : good) {
    const GidOwner& owner = view.gids.at(gid);
    if (owner == claimant) continue;
    view.lost.push_back({claimant.host, gid_key(gid, claimant.adapter),
                         fmt::format("host {} claimed the GID first", owner.host)});
  }
}

}  // namespace paravane::inventory
