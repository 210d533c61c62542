// ClusterService: an operator's word that all hosts are to follow what this one has, after it was
// restored from an older copy. The others are asked first which generation they follow, so that
// they are told of a higher one.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"
#include "cluster/followed_generations.h"

namespace paravane::cluster {

namespace {

std::unexpected<model::ApiError> unknown_switches() {
  return model::refuse(model::ApiErrorCode::kBusy, "this host has not read its switches yet",
                       "Try again.");
}

}  // namespace

model::ApiResult<model::AcceptSummary> ClusterService::weigh_accept() {
  if (auto may = need_authority(); !may) return std::unexpected(may.error());
  const std::vector<HostDoor> doors = doors_of_others();
  const auto answers =
      ask_doors(doors, [this](const HostDoor& at) { return ask_for_authority(at); });
  if (hear_answers(answers)) return std::unexpected(need_authority().error());
  const auto network = known_network();
  if (!network) return unknown_switches();
  const std::set<std::string> others = authority_->others();
  const std::shared_ptr<const inventory::View> seen = view();
  std::set<std::string> members = others;
  members.insert(membership_->self.host);
  return model::AcceptSummary{.cluster = membership_->self.cluster,
                              .host = membership_->self.host,
                              .generation = authority_->generation(),
                              .members = {members.begin(), members.end()},
                              .switches = network->switches.size(),
                              .port_groups = network->port_groups.size(),
                              .others = followed_generations(
                                  authority_->generation(), others, doors, answers,
                                  seen ? seen->hosts : std::map<std::string, inventory::Host>())};
}

model::ApiResult<model::ClusterStatus> ClusterService::do_accept() {
  const auto weighed = weigh_accept();
  if (!weighed) return std::unexpected(weighed.error());
  const auto network = known_network();
  if (!network) return unknown_switches();
  const Status accepted = authority_->accept(*network, newest_that_counts(weighed->others));
  if (!accepted) return etcd_failed(accepted.error());
  log::warn(
      "cluster: an operator makes all hosts adopt the configuration of host {}, as generation {}",
      membership_->self.host, authority_->generation());
  for (const model::FollowedGeneration& other : weighed->others) {
    if (other.counts) continue;
    log::warn("cluster: host {}, which has generation {}, might not adopt the configuration: {}",
              other.host, other.generation.value_or(0), other.problem);
  }
  compared_ = false;
  await_inventory();
  return cluster_status();
}

}  // namespace paravane::cluster
