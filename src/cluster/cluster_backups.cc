// ClusterService: backups of the cluster. A machine that is restored from one is the authority's
// host again. That a member is promoted with one is in cluster_promotion.cc.

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "authority/sealed_text.h"
#include "base/endpoint.h"
#include "base/log.h"
#include "base/version.h"
#include "cluster/clock.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"
#include "inventory/users.h"

namespace paravane::cluster {

using model::ApiErrorCode;
using model::ApiResult;
using model::refuse;

namespace {

constexpr const char* kAskAgain =
    "Type the passphrase of this backup again. If it is right, the file is damaged: use another "
    "copy of it, or another backup.";

std::shared_ptr<const inventory::View> view_of(const InventoryFile& file) {
  inventory::Records records;
  for (inventory::KeyValue pair : file.keys) records.put(std::move(pair));
  return records.build(file.revision);
}

// Whether another host was promoted in that cluster since.
bool is_after(const authority::Succession& known, const ClusterBackup& backup) {
  return known.keeper.cluster == backup.membership.self.cluster &&
         known.keeper.host != backup.membership.self.host && known.follows(succession_of(backup));
}

}  // namespace

// ---- backup ----

model::ApiResult<model::SealedBackup> ClusterService::do_backup(const std::string& passphrase) {
  if (auto may = need_authority(); !may) return std::unexpected(may.error());
  if (const Status good = authority::check_passphrase(passphrase); !good) {
    return refuse(ApiErrorCode::kInvalidRequest, good.error().message,
                  "Choose a passphrase of that length.");
  }
  if (problem_.empty()) tell_kept(kept_->flush(member_->records(), now()));
  auto inventory = kept_->read();
  if (!inventory) {
    return refuse(ApiErrorCode::kClusterAway,
                  "this host has no copy of the inventory: " + inventory.error().message,
                  "See paravane cluster status, and try again once the inventory is connected.");
  }
  auto key = read_file(paths_.authority_key());
  auto certificate = read_file(paths_.authority());
  auto book = load_book(paths_);
  if (!key) return not_kept(key.error());
  if (!certificate) return not_kept(certificate.error());
  if (!book) return not_kept(book.error());
  const ClusterBackup backup{
      .made = authority::wall_clock(),
      .version = kVersion,
      .authority = {.key = std::move(*key), .certificate = std::move(*certificate)},
      .etcd_authority = membership_->own_etcd_authority
                            ? std::string()
                            : read_file(paths_.etcd_authority()).value_or(""),
      .membership = *membership_,
      .book = std::move(*book),
      .inventory = backed_up(std::move(*inventory)),
      .succession = succession_ ? read_file(paths_.succession()).value_or("") : std::string()};
  auto sealed = authority::seal(print_backup(backup), passphrase);
  if (sealed) {
    log::info("cluster: a backup of generation {} of the configuration was created",
              backup.book.generation.number);
    return model::SealedBackup{.sealed = std::move(*sealed)};
  }
  if (sealed.error().code == Errc::kResourceExhausted) {
    return refuse(ApiErrorCode::kTooLarge,
                  "the cluster's data is too large for a backup: " + sealed.error().message,
                  "Delete unused switches and port groups.");
  }
  return refuse(ApiErrorCode::kInternal, sealed.error().message);
}

model::ApiResult<ClusterBackup> ClusterService::open_backup(
    const model::BackupRequest& asked) const {
  const auto text = authority::unseal(asked.sealed, asked.passphrase);
  if (!text) return refuse(ApiErrorCode::kInvalidRequest, text.error().message, kAskAgain);
  auto backup = parse_backup(*text);
  if (backup) return std::move(*backup);
  return refuse(ApiErrorCode::kInvalidRequest, backup.error().message,
                "Name a file that paravane cluster backup wrote, and use the version of Paravane "
                "that wrote it or a newer one.");
}

model::BackupSummary ClusterService::summarize(const ClusterBackup& backup) const {
  const auto seen = view_of(backup.inventory);
  const auto door = Endpoint::parse(backup.membership.door);
  model::BackupSummary summary{
      .cluster = backup.membership.self.cluster,
      .host = backup.membership.self.host,
      .address = door ? door->address() : std::string(),
      .made_s = static_cast<std::uint64_t>(backup.made.time_since_epoch().count()),
      .version = backup.version,
      .generation = backup.book.generation.number,
      .switches = seen->network.switches.size(),
      .port_groups = seen->network.port_groups.size()};
  for (const auto& [host, keys] : backup.book.members.members()) summary.members.push_back(host);
  if (membership_) {
    summary.replaces =
        fmt::format("host {} in cluster {}, which has generation {} of the configuration",
                    membership_->self.host, membership_->self.cluster, kept_->seen().number);
  } else if (const auto damaged = left_out()) {
    summary.replaces = "this host's damaged cluster files: " + damaged->reason;
  }
  return summary;
}

// All but the membership, which is kept last: what is not whole is nothing.
Status ClusterService::write_backup_files(const ClusterBackup& backup, const Membership& membership,
                                          AuthorityBook book, std::string_view own_key) {
  if (!backup.etcd_authority.empty()) {
    if (Status kept = write_file(paths_.etcd_authority(), backup.etcd_authority); !kept)
      return kept;
  }
  return ClusterAuthority::write(authority_config(membership), backup.authority, std::move(book),
                                 authority::wall_clock(), own_key);
}

// ---- restore ----

model::ApiResult<void> ClusterService::check_restore(const ClusterBackup& backup) {
  if (membership_ && membership_->self != backup.membership.self) {
    return refuse(
        ApiErrorCode::kExists,
        fmt::format("this host is {} in cluster {}, but the backup is of host {} in cluster {}",
                    membership_->self.host, membership_->self.cluster, backup.membership.self.host,
                    backup.membership.self.cluster),
        "Restore the backup on another machine, or leave the cluster first with paravane cluster "
        "leave.");
  }
  if (auto good = check_address(); !good) return good;
  const auto door = Endpoint::parse(backup.membership.door);
  if (!door || door->address() != config_.cluster.address) {
    return refuse(ApiErrorCode::kInvalidRequest,
                  fmt::format("the backup is of the host at {}, to which the other hosts connect, "
                              "but [cluster] address of this host is {}",
                              backup.membership.door, config_.cluster.address),
                  "Give this machine that address and set [cluster] address to it, or use paravane "
                  "cluster promote with this file on a member of the cluster.");
  }
  return {};
}

model::ApiResult<model::ClusterStatus> ClusterService::do_restore(
    const model::BackupRequest& asked) {
  auto backup = open_backup(asked);
  if (!backup) return std::unexpected(backup.error());
  if (auto may = check_restore(*backup); !may) return std::unexpected(may.error());
  if (auto known = load_succession(); known && is_after(*known, *backup)) {
    return refuse(
        ApiErrorCode::kDenied,
        fmt::format("host {} was promoted after the backup was made, and is the authority now",
                    known->keeper.host),
        "Delete this host's cluster files with paravane cluster leave --force, and join with a "
        "token from that host.");
  }
  auto password = authority::make_secret(kEtcdPasswordBytes);
  auto root_password = authority::make_secret(kEtcdPasswordBytes);
  if (!password || !root_password)
    return refuse(ApiErrorCode::kInternal, "cannot generate random numbers");
  forget();
  Membership membership = backup->membership;
  AuthorityBook book = backup->book;
  if (membership.runs_etcd) {  // it starts empty
    membership.etcd_password = std::move(*password);
    book.root.password = std::move(*root_password);
    membership.etcd = {own_etcd_url()};
  }
  membership.door = Endpoint::of(config_.cluster.address, config_.cluster.door_port)->print();
  Status kept = make_cluster_directory(paths_);
  if (kept) kept = write_file(paths_.inventory(), print_inventory(backup->inventory));
  if (kept && !backup->succession.empty())
    kept = write_file(paths_.succession(), backup->succession);
  if (kept) kept = write_backup_files(*backup, membership, std::move(book));
  if (kept) kept = save_membership(paths_, membership);
  if (kept) {
    succession_ = load_succession();
    kept = enter(std::move(membership));
  }
  if (!kept) {
    forget();
    return not_kept(kept.error());
  }
  log::warn("cluster: this host is {} in cluster {}, restored from a backup of {:%F %T} UTC",
            membership_->self.host, membership_->self.cluster, backup->made);
  warn_of_other_name(membership_->self.host, config_.host.name);
  await_inventory();
  if (member_) return cluster_status();
  return refuse(
      ApiErrorCode::kDenied,
      fmt::format("host {} was promoted after the backup was made, and is the authority now",
                  succession_ ? succession_->keeper.host : std::string()),
      "Delete the restored files with paravane cluster leave --force, and join with a token from "
      "that host.");
}

}  // namespace paravane::cluster
