// ClusterService: files of the cluster that cannot be used. The host goes on without what they
// are for, says so, and looks again, since to start the daemon anew would cost VMs their
// adapters.

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/log.h"
#include "cluster/clock.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"
#include "cluster/member_files.h"
#include "cluster/promotion_files.h"

namespace paravane::cluster {
namespace {

// `has_key`: the authority's, which a backup of the cluster has, too.
std::string remedy_of_damage(bool has_key) {
  return fmt::format(
      "Restore the damaged files from a copy of this host's state directory (the daemon then reads "
      "them again); {}or delete this host's cluster files, including its keys, with: paravane "
      "cluster leave --force",
      has_key ? "or restore a backup of the cluster with: paravane cluster restore FILE; " : "");
}

}  // namespace

void ClusterService::look_at_files() {
  next_look_at_files_ = now() + kFilesAgain;
  if (membership_) return look_at_authority();
  remove_incomplete_files(paths_);
  tell_kept(settle_promotion(paths_));
  auto found = load_member_files(paths_);
  if (!found) return note_damage(found.error().message);
  if (*found) {
    // What is known without a file, on a full disk, stays known.
    if (auto known = load_succession()) succession_ = std::move(*known);
    if (is_succeeded(**found)) return note_succeeded();
    follow_succession(**found);
    if (const Status in = enter(std::move(**found)); !in) return note_damage(in.error().message);
    if (membership_->has_authority() && !authority_) return;
  }
  note_whole();
}

void ClusterService::look_at_authority() {
  auto loaded = ClusterAuthority::load(authority_config(*membership_));
  if (!loaded) return note_damage(loaded.error().message);
  authority_ = std::move(*loaded);
  next_door_ = now();
  wants_settling_ = true;
  note_whole();
}

void ClusterService::note_damage(const std::string& what, const std::string& remedy) {
  std::error_code unknown;
  const bool has_key = (membership_ && membership_->has_authority()) ||
                       std::filesystem::exists(paths_.authority_key(), unknown);
  const std::string cure = remedy.empty() ? remedy_of_damage(has_key) : remedy;
  const std::string name = membership_ ? membership_->self.host : find_host_name(paths_);
  {
    const MutexLock lock(mutex_);
    shared_.damaged_host = name;
    shared_.damage_remedy = cure;
    if (std::exchange(shared_.damage, what) == what) return;
  }
  log::error("cluster: {}: {}. {}",
             membership_ ? "the authority on this host does not work"
                         : "this host cannot take part in its cluster",
             what, cure);
  if (listeners_.files) listeners_.files(what);
}

void ClusterService::note_whole() {
  {
    const MutexLock lock(mutex_);
    shared_.damaged_host.clear();
    shared_.damage_remedy.clear();
    if (std::exchange(shared_.damage, {}).empty()) return;
  }
  log::info("cluster: the files of the cluster can be used again");
  if (listeners_.files) listeners_.files({});
}

std::optional<model::LeftOut> ClusterService::left_out() const {
  const MutexLock lock(mutex_);
  if (shared_.damage.empty()) return std::nullopt;
  return model::LeftOut{.kind = std::string(model::kLeftOutCluster),
                        .name = {},
                        .reason = shared_.damage,
                        .remedy = shared_.damage_remedy};
}

std::string ClusterService::host_name() const {
  const MutexLock lock(mutex_);
  return shared_.self ? shared_.self->host : shared_.damaged_host;
}

model::ApiResult<void> ClusterService::check_whole() const {
  const MutexLock lock(mutex_);
  if (shared_.damage.empty()) return {};
  return model::refuse(model::ApiErrorCode::kStore,
                       "the files of the cluster cannot be used: " + shared_.damage,
                       shared_.damage_remedy);
}

// Not even what came there after the start.
model::ApiResult<void> ClusterService::check_no_files() const {
  if (auto whole = check_whole(); !whole) return whole;
  const auto found = load_member_files(paths_);
  if (found && !*found) return {};
  return model::refuse(
      model::ApiErrorCode::kStore,
      "this host already has files of a cluster: " +
          (found ? paths_.membership().string() : found.error().message),
      fmt::format(
          "Restart the daemon to take part in that cluster, or move {} away to start without it.",
          paths_.directory().string()));
}

}  // namespace paravane::cluster
