// ClusterAuthority: what a host that is about to join has in its switches that this cluster has
// otherwise. It is looked for before anything is signed or written, so that the token stays good.

#include <chrono>
#include <utility>

#include "cluster/cluster_authority.h"
#include "cluster/network_differences.h"
#include "inventory/keys.h"
#include "inventory/view.h"

namespace paravane::cluster {

authority::DoorAnswer ClusterAuthority::compare_host(const authority::DoorRequest& request,
                                                     authority::Seconds now) {
  authority::DoorAnswer answer;
  const auto host = book_.tokens.check(request.token_id, request.secret, now);
  if (!host) {
    refused_joins_.warn(std::chrono::steady_clock::now(), "cluster: a join was refused: {}",
                        host.error().message);
    answer.problem = host.error().message;
    return answer;
  }
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  inventory::Records shared;
  const auto read =
      root.for_each(std::string(inventory::kConfigPrefix),
                    [&shared](inventory::KeyValue&& pair) { return shared.put(std::move(pair)); });
  if (!read) {
    answer.problem = "the authority cannot reach etcd now";
    answer.refusal = authority::DoorRefusal::kBusy;
    return answer;
  }
  inventory::Records own;
  for (const auto& [name, text] : request.documents) {
    own.put({.key = std::string(inventory::kConfigPrefix) + name, .value = text});
  }
  NetworkDifferences found =
      find_differences(under_one_name(own.build()->network, *host), shared.build()->network, *host);
  answer.host = *host;
  answer.clock_s = static_cast<std::uint64_t>(now.time_since_epoch().count());
  answer.other_switches = std::move(found.switches);
  answer.other_port_groups = std::move(found.port_groups);
  return answer;
}

}  // namespace paravane::cluster
