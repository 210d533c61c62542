// NetworkDifferences: the switches and port groups of a host that its cluster does not have, or has
// with another configuration. A host with such differences is not allowed to join. Otherwise, the
// name of a port group could suddenly refer to another network for the host's VMs. The authority,
// which admits hosts, checks this. The joining host also checks it before it becomes a member.
//
// Stateless, any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/api_error.h"
#include "model/distributed_switch.h"

namespace paravane::cluster {

struct NetworkDifferences {
  std::vector<std::string> switches{};
  // Includes port groups that do not differ but belong to a switch that differs, because that
  // switch can be deleted only after them.
  std::vector<std::string> port_groups{};

  bool empty() const { return switches.empty() && port_groups.empty(); }
};

// Compares `own`, the network of the host, with `shared`, the network of the cluster. Both refer to
// the host as `host`. Settings of other hosts in a shared switch are not compared.
NetworkDifferences find_differences(const model::Network& own, const model::Network& shared,
                                    const std::string& host);

// Removes the settings of other hosts from the switches. `called`: the host's name in them.
model::Network without_others(model::Network network, const std::string& called);
// Renames the host to `host` in all switches. REQUIRES: the result of without_others().
model::Network under_one_name(model::Network network, const std::string& host);

// The error for an operator. `token`: the words for the token to use next, such as "the same token"
// if it is still valid.
std::unexpected<model::ApiError> refuse_differences(const NetworkDifferences& differences,
                                                    std::string_view token);

}  // namespace paravane::cluster
