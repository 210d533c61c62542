#include "cluster/cluster_picture.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "cluster/clock.h"

namespace paravane::cluster {
namespace {

constexpr std::size_t kMostClaims = 100;  // that are named

std::vector<std::string> describe_lost(const inventory::View& view) {
  std::vector<std::string> lines;
  lines.reserve(view.oversized_hosts.size() + kMostClaims + 1);
  for (const std::string& host : view.oversized_hosts) {
    lines.push_back(fmt::format("all keys of host {}: the host has too many keys", host));
  }
  const std::size_t named = std::min(view.lost.size(), kMostClaims);
  for (std::size_t i = 0; i < named; ++i) {
    const inventory::LostClaim& claim = view.lost[i];
    lines.push_back(fmt::format("{} of host {}: {}", claim.key, claim.host, claim.reason));
  }
  if (named < view.lost.size()) {
    lines.push_back(fmt::format("{} more claims", view.lost.size() - named));
  }
  return lines;
}

// With an authority of an older version all are that are there.
bool is_known_by_name(const inventory::MemberRecords& members, const model::ClusterHost& host) {
  const auto found = members.find(host.name);
  return found == members.end() ? host.present && members.empty() : found->second.keys.empty();
}

// One of an older version says no mark.
bool is_ahead(const inventory::Generation& own, const inventory::HostInfo& host) {
  if (host.mark.empty()) return host.generation > own.number;
  return !continues(own, {.number = host.generation, .mark = host.mark});
}

std::string certificate_problem(const ClusterPicture& picture, authority::Seconds time) {
  const authority::Validity& valid = picture.certificate;
  if (time < valid.from) {
    return fmt::format(
        "the certificate is not valid before {:%F %T} UTC, because the clock of host {} or of this "
        "host was wrong; it is renewed once both clocks are set",
        valid.from, picture.authority);
  }
  if (time < valid.until) return {};
  return fmt::format(
      "the certificate expired on {:%F %T} UTC; set this host's clock if it is wrong, or leave the "
      "cluster and join again",
      valid.until);
}

}  // namespace

model::ClusterStatus describe(const ClusterPicture& picture, const settings::Config& config) {
  if (!picture.self) return {.damage = picture.damage, .damage_remedy = picture.damage_remedy};
  const auto today = authority::wall_clock();
  const auto away = now() - picture.state.since;
  const auto seconds = [](auto time) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, whole));
  };
  model::ClusterStatus status{.damage = picture.damage,
                              .damage_remedy = picture.damage_remedy,
                              .member = true,
                              .cluster = picture.self->cluster,
                              .host = picture.self->host,
                              .authority = picture.authority,
                              .address = config.cluster.address,
                              .connected = picture.state.connected,
                              .connecting = picture.state.connecting,
                              .problem = picture.state.problem,
                              .since_s = seconds(away),
                              .certificate_left_s = picture.certificate.covers(today)
                                                        ? seconds(picture.certificate.until - today)
                                                        : 0,
                              .certificate_problem = certificate_problem(picture, today),
                              .etcd = picture.etcd};
  std::map<std::string, model::ClusterHost> hosts;
  for (const std::string& name : picture.members) hosts[name].name = name;
  const inventory::View nothing;
  const inventory::View& seen = picture.view ? *picture.view : nothing;
  for (const auto& [name, record] : seen.members) hosts[name].name = name;
  for (const auto& [name, host] : seen.hosts) {
    hosts[name] = {.name = name,
                   .present = host.info.has_value(),
                   .address = host.info ? host.info->address : "",
                   .port = host.info ? host.info->port : 0U,
                   .version = host.info ? host.info->version : "",
                   .adapters = host.adapters.size(),
                   .gids = host.gids.size(),
                   .generation = host.info ? host.info->generation : 0,
                   .ahead = host.info && is_ahead(seen.generation, *host.info)};
  }
  for (const auto& [name, channel] : picture.channels) {
    const auto found = hosts.find(name);
    if (found == hosts.end()) continue;
    const char* kind = config.channel.encrypted ? "encrypted" : "sealed";
    found->second.channel = channel.is_open() ? kind : "none";
    found->second.problem = channel;
  }
  for (auto& [name, host] : hosts) {
    host.by_name = is_known_by_name(seen.members, host);
    status.hosts.push_back(std::move(host));
  }
  status.generation = seen.generation.number;
  status.odd_keys = seen.odd_keys;
  status.lost = describe_lost(seen);
  return status;
}

std::vector<model::ClusterAdapter> list_adapters(const ClusterPicture& picture) {
  std::vector<model::ClusterAdapter> list;
  if (!picture.view) return list;
  for (const auto& [name, host] : picture.view->hosts) {
    for (const auto& [adapter, info] : host.adapters) {
      list.push_back(
          {.host = name, .adapter = adapter, .mac = info.mac, .port_group = info.port_group});
    }
  }
  return list;
}

}  // namespace paravane::cluster
