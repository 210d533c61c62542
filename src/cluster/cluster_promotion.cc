// ClusterService: promotes a member: with a backup it takes over the authority from a host that is
// gone. It stays an ordinary member until its etcd answers and all files are written.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/endpoint.h"
#include "base/log.h"
#include "cluster/clock.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"
#include "cluster/promotion_check.h"
#include "cluster/promotion_files.h"

namespace paravane::cluster {

using model::ApiErrorCode;
using model::ApiResult;
using model::refuse;

namespace {

// A later promotion counts, also of a host that knows nothing of the one before.
std::uint64_t term_after(std::uint64_t known) {
  const std::int64_t seconds = authority::wall_clock().time_since_epoch().count();
  return std::max(known + 1, static_cast<std::uint64_t>(std::max(seconds, std::int64_t{0})));
}

}  // namespace

model::ApiResult<void> ClusterService::check_promotion(const ClusterBackup& backup) {
  if (!membership_) {
    if (auto whole = check_whole(); !whole) return whole;
    return refuse(ApiErrorCode::kNotFound,
                  "this host is not in a cluster, and only a member can be promoted",
                  "Promote a member of the cluster. On a machine that replaces the host of the "
                  "backup and has its address, use paravane cluster restore FILE.");
  }
  if (authority_ || membership_->has_authority()) {
    return refuse(ApiErrorCode::kExists, "this host is already the cluster's authority",
                  "There is nothing to do. If its files are damaged, restore them with paravane "
                  "cluster restore FILE.");
  }
  const auto known = read_file(paths_.authority());
  if (!known) return not_kept(known.error());
  const std::string& cluster = membership_->self.cluster;
  if (backup.membership.self.cluster != cluster || backup.authority.certificate != *known) {
    return refuse(
        ApiErrorCode::kInvalidRequest,
        backup.membership.self.cluster != cluster
            ? fmt::format("the backup is of cluster {}, but this host is in cluster {}",
                          backup.membership.self.cluster, cluster)
            : fmt::format("the authority's certificate for cluster {} in the backup differs from "
                          "the one on this host",
                          cluster),
        fmt::format("Name a file that paravane cluster backup wrote on host {} of this cluster.",
                    membership_->authority));
  }
  if (auto good = check_address(); !good) return good;
  if (auto right = check_own_clock(certificate_->valid(), backup.made, authority::wall_clock());
      !right) {
    return right;
  }
  return check_others({.host = membership_->authority, .door = membership_->door});
}

// All at once: hosts that are off cost the time of one.
model::ApiResult<void> ClusterService::check_others(const HostDoor& last) {
  std::vector<HostDoor> doors = doors_of_others();
  if (std::ranges::find(doors, last) == doors.end()) doors.insert(doors.begin(), last);
  const auto answers =
      ask_doors(doors, [this](const HostDoor& at) { return ask_for_authority(at); });
  for (std::size_t i = 0; i < doors.size(); ++i) {
    const bool has_answered = answers[i] || answers[i].error().code == Errc::kBadState;
    if (doors[i].host != last.host || !has_answered) continue;
    return refuse(
        ApiErrorCode::kDenied,
        fmt::format("host {} is the authority and still answers at {}", last.host, doors[i].door),
        fmt::format("Stop its daemon first with paravane daemon stop on host {}, and try again.",
                    last.host));
  }
  if (hear_answers(answers)) {
    return refuse(ApiErrorCode::kDenied,
                  fmt::format("host {} was already promoted, and this host follows it now",
                              succession_ ? succession_->keeper.host : std::string()),
                  "There is nothing to do: see paravane cluster status.");
  }
  return check_answers(last.host, doors, answers, authority::wall_clock());
}

// The members come from the inventory that this host followed last, if that is at least as new as
// the backup, because it has their current keys. The former authority's host is left out.
AuthorityBook ClusterService::book_of_promoted(const ClusterBackup& backup,
                                               const Membership& membership) const {
  AuthorityBook book = backup.book;
  book.tokens = {};
  const std::shared_ptr<const inventory::View> seen = view();
  const bool is_newer =
      seen && !seen->members.empty() && seen->generation.number >= backup.book.generation.number;
  if (is_newer) {
    book.members = {};
    for (const auto& [host, record] : seen->members) {
      book.members.adopt(host,
                         {.joined = record.joined,
                          .present = record.keys.empty() ? std::string() : record.keys.front(),
                          .next = record.keys.size() > 1 ? record.keys.back() : std::string()});
    }
    book.generation = seen->generation;
  }
  book.members.remove(membership_->authority);
  if (!book.members.is_member(membership.self.host, certificate_->key())) {
    book.members.admit(membership.self.host, certificate_->key());
  }
  book.members.note_use(membership.self.host, certificate_->key());
  return book;
}

// The membership last: with it this host has the authority.
model::ApiResult<void> ClusterService::write_promotion(const ClusterBackup& backup,
                                                       const Membership& membership,
                                                       AuthorityBook book,
                                                       const std::string& succession) {
  Status kept;
  // What this host knows may be older: then it goes on with the configuration of the backup.
  if (kept_->seen().number < backup.book.generation.number) {
    kept = write_file(paths_.inventory(), print_inventory(backup.inventory));
  }
  // The others know it by its key, and their channels to it stand on that: it keeps it.
  const auto own_key = read_file(paths_.identity());
  if (!own_key) return not_kept(own_key.error());
  if (kept) kept = write_backup_files(backup, membership, std::move(book), *own_key);
  if (kept && membership.runs_etcd) kept = write_own_certificate(paths_);
  if (!kept) return not_kept(kept.error());
  if (membership.runs_etcd) {
    remove_etcd_data(paths_);
    inventory::EtcdAccess access = etcd_access(paths_, membership);
    access.user.clear();
    inventory::EtcdClient anybody(access, open_);
    const auto answers = start_etcd(anybody, privsep::EtcdReach::kOwnHost);
    if (!answers) return etcd_failed(answers.error());
  }
  kept = write_file(paths_.succession(), succession);
  if (kept) kept = save_membership(paths_, membership);
  if (!kept) return not_kept(kept.error());
  return {};
}

// All of it, or nothing.
model::ApiResult<void> ClusterService::take_authority(const ClusterBackup& backup,
                                                      const Membership& membership,
                                                      AuthorityBook book,
                                                      const std::string& succession) {
  if (problem_.empty()) tell_kept(kept_->flush(member_->records(), now()));
  if (Status kept = keep_before_promotion(paths_); !kept) return not_kept(kept.error());
  auto taken = write_promotion(backup, membership, std::move(book), succession);
  if (!taken && membership.runs_etcd) run_own_etcd(privsep::EtcdReach::kOff);
  if (!taken) {  // it may stand there though it could not be kept
    const auto there = load_membership(paths_);
    if (there && *there && (*there)->has_authority()) {
      tell_kept(save_membership(paths_, *membership_));
    }
  }
  tell_kept(settle_promotion(paths_));
  return taken;
}

model::ApiResult<model::ClusterStatus> ClusterService::do_promote(
    const model::BackupRequest& asked) {
  auto backup = open_backup(asked);
  if (!backup) return std::unexpected(backup.error());
  if (auto may = check_promotion(*backup); !may) return std::unexpected(may.error());
  auto root_password = authority::make_secret(kEtcdPasswordBytes);
  if (!root_password) return refuse(ApiErrorCode::kInternal, "cannot generate random numbers");
  const std::string before = membership_->authority;
  Membership membership = *membership_;
  membership.authority = membership.self.host;
  membership.door = Endpoint::of(config_.cluster.address, config_.cluster.door_port)->print();
  membership.runs_etcd = backup->membership.runs_etcd;
  if (membership.runs_etcd) membership.etcd = {own_etcd_url()};
  AuthorityBook book = book_of_promoted(*backup, membership);
  if (membership.runs_etcd) book.root = {.password = std::move(*root_password)};
  const std::uint64_t known =
      std::max(succession_ ? succession_->term : 0, succession_of(*backup).term);
  authority::Succession succession{.keeper = membership.self,
                                   .term = term_after(known),
                                   .door = membership.door,
                                   .etcd = membership.etcd,
                                   .before = membership_->door};
  const auto text = authority::print_succession(succession, backup->authority.key);
  if (!text) return refuse(ApiErrorCode::kInternal, text.error().message);
  if (auto taken = take_authority(*backup, membership, std::move(book), *text); !taken) {
    return std::unexpected(taken.error());
  }
  step_out();
  succession_ = std::move(succession);
  if (Status in = enter(std::move(membership)); !in) {
    note_damage(in.error().message);
    return not_kept(in.error());
  }
  asked_others_ = true;  // a moment ago
  next_asking_ = now() + std::chrono::minutes(1);
  if (listeners_.identity) listeners_.identity();
  log::warn(
      "cluster: this host was promoted: it is now the authority in place of host {}, which was "
      "removed from the cluster",
      before);
  await_inventory();
  return cluster_status();
}

}  // namespace paravane::cluster
