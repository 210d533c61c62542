// NetworkDifferences: the switches and port groups of a host that are missing or different in its
// cluster. A host with such differences may not join, because a name would suddenly mean another
// network for its VMs. The authority checks this before it admits the host, and the host checks it
// before it becomes a member.
//
// Any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/api_error.h"
#include "model/distributed_switch.h"

namespace paravane::cluster {

struct NetworkDifferences {
  std::vector<std::string> switches{};
  // Also those that the cluster has just so, but in a switch that differs: a switch is deleted
  // after its port groups.
  std::vector<std::string> port_groups{};

  bool empty() const { return switches.empty() && port_groups.empty(); }
};

// `own`: of the host, which is called `host` there and in `shared`. What other hosts do in a
// shared switch is theirs.
NetworkDifferences find_differences(const model::Network& own, const model::Network& shared,
                                    const std::string& host);

// With what the host does in its switches alone, which it is called `called` in.
model::Network without_others(model::Network network, const std::string& called);
// REQUIRES: without_others(). The host has the name `host` there, whatever it was called.
model::Network under_one_name(model::Network network, const std::string& host);

// `token`: "the same token", if nothing has used it.
std::unexpected<model::ApiError> refuse_differences(const NetworkDifferences& differences,
                                                    std::string_view token);

}  // namespace paravane::cluster
