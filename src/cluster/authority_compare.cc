// ClusterAuthority: its book against etcd, which may have come back older, empty or without users.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/clock.h"
#include "cluster/cluster_authority.h"
#include "cluster/config_documents.h"
#include "inventory/keys.h"
#include "inventory/users.h"
#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::cluster {

using inventory::EtcdClient;
using inventory::Generation;
using inventory::View;
using inventory::Write;

namespace {

constexpr const char* kWhichCounts =
    "If the switches, port groups and members of this host are right, make all hosts adopt them "
    "with: paravane cluster restore --accept. If those in etcd are right, first restore this "
    "host's state directory from its newest copy";

// Of those that have keys there, whether they are members or not.
Result<std::set<std::string>> hosts_with_keys(EtcdClient& root) {
  std::set<std::string> hosts;
  const auto read = root.for_each(std::string(inventory::kHostsPrefix),
                                  [&hosts](inventory::KeyValue&& pair) -> std::string {
                                    const auto host = inventory::host_of_key(pair.key);
                                    if (!host) return {};
                                    hosts.insert(*host);
                                    return inventory::end_of_prefix(inventory::host_prefix(*host));
                                  });
  if (!read) return std::unexpected(read.error());
  return hosts;
}

// The host that has the authority, as etcd says it; empty: it does not.
std::string authority_in(const View& seen) {
  const auto found = seen.documents.find(std::string(inventory::kClusterDocument));
  if (found == seen.documents.end()) return {};
  const auto value = parse_json(found->second);
  return value ? JsonReader(*value, "cluster").text("authority").value_or("") : std::string();
}

inventory::SeenGeneration as_seen(const Generation& generation) {
  return {.number = generation.number, .mark = std::string(generation.mark()), .revision = 0};
}

}  // namespace

Status ClusterAuthority::compare(const model::Network& network) {
  const inventory::EtcdAccess access = root_access();
  EtcdClient root(access, config_.open);
  if (Status closed = close_own_etcd(access); !closed) return closed;
  inventory::Records records;
  const auto revision =
      root.for_each(std::string(inventory::kConfigPrefix),
                    [&](inventory::KeyValue&& pair) { return records.put(std::move(pair)); });
  if (!revision) return std::unexpected(revision.error());
  const auto seen = records.build(*revision);
  const Generation& there = seen->generation;
  const bool is_there = seen->documents.contains(std::string(inventory::kClusterDocument));
  const bool is_same = is_there && there == book_.generation;
  const bool is_newer = is_there && there.number > book_.generation.number;
  const std::string before = authority_in(*seen);
  const bool is_promoted = !before.empty() && before != self() && has_succeeded();
  if (is_newer && !continues(there, as_seen(book_.generation))) {
    return fail(
        Errc::kBadState,
        fmt::format(
            "etcd has generation {} of the configuration, and the authority's records have "
            "generation {} of a different history: one of the two comes from an older copy. {}",
            there.number, book_.generation.number, kWhichCounts));
  }
  if (is_newer) {
    if (Status taken = adopt(*seen); !taken) return taken;
    if (is_promoted) book_.members.remove(before);
  } else if (!is_same) {
    etcd_differs_.warn(
        now(),
        "cluster: etcd has generation {} of the configuration at its revision {}, which is older "
        "than generation {} in the authority's records: the authority writes its records to etcd",
        there.number, *revision, book_.generation.number);
  }
  if (Status users = settle_users(root, !is_same && !is_newer, is_promoted); !users) return users;
  if (is_promoted) {
    return write_as_root(root, config_writes(book_.members, network, *seen, self()));
  }
  if (is_newer || (is_same && there.number != 0)) return {};
  // An authority of an older version has not counted: what stands there is what there is.
  const bool starts_counting = is_same;
  return write_as_root(root, starts_counting
                                 ? std::vector<Write>()
                                 : config_writes(book_.members, network, *seen, self()));
}

Status ClusterAuthority::accept(const model::Network& network, std::uint64_t newest_elsewhere) {
  const inventory::EtcdAccess access = root_access();
  EtcdClient root(access, config_.open);
  if (Status closed = close_own_etcd(access); !closed) return closed;
  inventory::Records records;
  const auto read =
      root.for_each(std::string(inventory::kConfigPrefix),
                    [&](inventory::KeyValue&& pair) { return records.put(std::move(pair)); });
  if (!read) return std::unexpected(read.error());
  const auto seen = records.build(*read);
  auto mark = make_mark();
  if (!mark) return std::unexpected(mark.error());
  Generation before = book_.generation;
  before.number = std::max({before.number, seen->generation.number, newest_elsewhere});
  book_.generation = accepted_generation(before, std::move(*mark));
  if (Status users = settle_users(root, true, false); !users) return users;
  return write_as_root(root, config_writes(book_.members, network, *seen, self()));
}

// The book is from an older copy: the members are those of etcd, where this authority alone has
// written. Tokens may have been used since.
Status ClusterAuthority::adopt(const View& seen) {
  authority::MemberBook members;
  for (const auto& [host, record] : seen.members) {
    members.adopt(host, {.joined = record.joined,
                         .present = record.keys.empty() ? std::string() : record.keys.front(),
                         .next = record.keys.size() > 1 ? record.keys.back() : std::string()});
  }
  if (!members.contains(self())) {
    return fail(
        Errc::kBadState,
        fmt::format("etcd has a newer configuration than the authority's records, but no record of "
                    "host {}: one of the two belongs to another cluster or is damaged. {}",
                    self(), kWhichCounts));
  }
  etcd_differs_.warn(now(),
                     "cluster: the authority's records have generation {} of the configuration, "
                     "which is older than generation {} in etcd: the authority reads the members "
                     "from etcd, and all join tokens are void",
                     book_.generation.number, seen.generation.number);
  book_.tokens = {};
  book_.members = std::move(members);
  book_.generation = seen.generation;
  if (Status own = read_own_key(); !own) return own;
  return save(book_.members);
}

// An etcd of ours that has lost its data lets in everybody: no host reaches it yet (EtcdReach).
Status ClusterAuthority::close_own_etcd(const inventory::EtcdAccess& root_access) {
  if (!config_.membership.runs_etcd) return {};
  inventory::EtcdAccess access = root_access;
  access.user.clear();
  EtcdClient anybody(access, config_.open);
  const auto closed = anybody.auth_enabled();
  if (!closed) return std::unexpected(closed.error());
  if (*closed) return {};
  etcd_differs_.warn(now(),
                     "cluster: etcd has no users, because its data was lost; the authority is "
                     "restoring its records to etcd");
  return inventory::close_etcd(anybody, book_.root.password);
}

// Who may log in, and who has keys there: members alone. In an etcd that came back a name may
// have the password of a machine that had it before: all other members ask at the door, where
// their keys are looked at, and what broke off half way for this host is done again. `is_promoted`:
// this host is known there, as a member without the authority's rights.
Status ClusterAuthority::settle_users(EtcdClient& root, bool came_back, bool is_promoted) {
  const auto users = root.users();
  if (!users) return std::unexpected(users.error());
  auto strangers = hosts_with_keys(root);
  if (!strangers) return std::unexpected(strangers.error());
  const std::string prefix = inventory::host_user("");
  for (const std::string& user : *users) {
    if (user.starts_with(prefix)) strangers->insert(user.substr(prefix.size()));
  }
  for (const std::string& host : *strangers) {
    if (host == self()) continue;
    if (book_.members.contains(host)) {
      if (!came_back) continue;
      if (Status gone = root.remove_user(inventory::host_user(host)); !gone) return gone;
      continue;
    }
    etcd_differs_.warn(now(),
                       "cluster: etcd has a user or keys of host {}, which is not a member; its "
                       "user and keys are deleted",
                       host);
    if (Status gone = inventory::dismiss_host(root, host); !gone) return gone;
  }
  const bool is_known = std::ranges::find(*users, inventory::host_user(self())) != users->end();
  if (is_known && !came_back && !is_promoted) return {};
  return inventory::admit_host(root, self(), config_.membership.etcd_password, true);
}

}  // namespace paravane::cluster
