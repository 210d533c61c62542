#include "cluster/cluster_refusals.h"

#include <fmt/core.h>

#include "authority/door_message.h"
#include "base/log.h"
#include "settings/name_of_host.h"

namespace paravane::cluster {

std::unexpected<model::ApiError> no_cluster() {
  return model::refuse(
      model::ApiErrorCode::kNotFound, "this host is not in a cluster",
      "Create a cluster with paravane cluster init, or join one with paravane cluster join.");
}

std::unexpected<model::ApiError> not_kept(const Error& error) {
  return model::refuse(model::ApiErrorCode::kStore, error.message,
                       "Check that the state directory has free space.");
}

std::unexpected<model::ApiError> etcd_failed(const Error& error) {
  if (error.code == Errc::kBadState) {
    return model::refuse(
        model::ApiErrorCode::kDenied, error.message,
        "Use --etcd-user and --etcd-password-file to specify a user with all rights.");
  }
  return model::refuse(model::ApiErrorCode::kClusterAway, error.message,
                       "Check that etcd runs and is reachable; to run etcd on this host: apt "
                       "install etcd-server. See the log of paravaned for details.");
}

std::string own_etcd_away(const std::string& cause, const std::filesystem::path& data) {
  return fmt::format(
      "{}. The log of paravaned says why the etcd of this host does not run. If etcd is not "
      "installed: apt install etcd-server. If its data in {} is damaged, stop the daemon with "
      "paravane daemon stop, remove that directory and start the daemon: it writes this host's "
      "data to etcd again",
      cause, data.string());
}

std::unexpected<model::ApiError> join_refused(const std::string& door,
                                              const authority::DoorAnswer& answer) {
  const std::string what =
      fmt::format("the authority at {} refused the request: {}", door, answer.problem);
  if (answer.refusal == authority::DoorRefusal::kBusy) {
    return model::refuse(
        model::ApiErrorCode::kClusterAway, what,
        "Join again in a moment with the same token; see the log of the authority's host for "
        "details.");
  }
  return model::refuse(
      model::ApiErrorCode::kDenied, what,
      "Create another token on the authority's host with paravane cluster token NAME.");
}

void warn_of_other_name(const std::string& member, const std::string& configured) {
  const std::string own = settings::host_name(configured);
  if (own == member) return;
  log::warn(
      "cluster: [host] name in paravaned.toml should be {}: distributed switches use the name {} "
      "for this host",
      member, own);
}

}  // namespace paravane::cluster
