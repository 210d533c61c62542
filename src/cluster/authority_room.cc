// ClusterAuthority: room in etcd for all, whatever one host writes.

#include <chrono>
#include <utility>

#include "cluster/clock.h"
#include "cluster/cluster_authority.h"
#include "inventory/keys.h"
#include "inventory/users.h"

namespace paravane::cluster {

using inventory::EtcdClient;

namespace {

// Half the space of an etcd of ours (keeper/etcd_service.cc): what it has after a compaction is
// far below, so that the file is to shrink.
constexpr std::int64_t kLargeFile = std::int64_t{256} << 20;  // bytes

}  // namespace

Status ClusterAuthority::curb(const std::string& host) {
  if (!book_.members.contains(host) || host == self()) return {};
  const inventory::EtcdAccess access = root_access();
  EtcdClient root(access, config_.open);
  const auto [place, fresh] = book_.curbed.insert(host);
  if (fresh) {
    if (Status kept = save(book_.members); !kept) {
      book_.curbed.erase(place);
      return kept;
    }
  }
  return root.forbid(inventory::host_user(host), inventory::host_prefix(host));
}

Status ClusterAuthority::forgive(const std::string& host) {
  if (book_.members.contains(host)) {
    const inventory::EtcdAccess access = root_access();
    EtcdClient root(access, config_.open);
    const Status may = root.allow(inventory::host_user(host), inventory::host_prefix(host), true);
    if (!may) return may;
  }
  book_.curbed.erase(host);
  return save(book_.members);
}

Status ClusterAuthority::compact(std::int64_t revision) {
  const inventory::EtcdAccess access = root_access();
  EtcdClient root(access, config_.open);
  const Status done = root.compact(revision);
  // Somebody has been there before.
  return done || done.error().code == Errc::kOutOfRange ? Status() : done;
}

Result<bool> ClusterAuthority::make_room() {
  const inventory::EtcdAccess access = root_access();
  EtcdClient root(access, config_.open);
  const auto seen = root.status();
  if (!seen) return std::unexpected(seen.error());
  // An operator's etcd may be large for other reasons.
  const bool is_large = config_.membership.runs_etcd && seen->file_bytes >= kLargeFile;
  if (!seen->is_full && !is_large) return false;
  room_.warn(now(), "cluster: etcd's data takes up {} MiB{}; old revisions are removed",
             seen->file_bytes >> 20, seen->is_full ? ", and etcd accepts no more writes" : "");
  const Status compacted = root.compact(seen->revision);
  if (!compacted && compacted.error().code != Errc::kOutOfRange) {
    return std::unexpected(compacted.error());
  }
  if (Status smaller = root.defragment(); !smaller) return std::unexpected(smaller.error());
  if (!seen->is_full) return true;
  if (Status takes = root.take_writes_again(); !takes) return std::unexpected(takes.error());
  room_.info(now(), "cluster: etcd accepts writes again");
  return true;
}

}  // namespace paravane::cluster
