// Prints the status of a cluster, with the role of this host and a row for each host. Also prints
// the list of the VMs of all hosts.

#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "model/cluster.h"
#include "text/text_table.h"

namespace paravane::cli {

// As JSON, the function prints the object of the API; as CSV, only the rows of the hosts.
std::string print_cluster(const model::ClusterStatus& status, text::TableFormat format);

// Prints the VMs of all hosts, with a row for each adapter.
std::string print_cluster_adapters(const std::vector<model::ClusterAdapter>& adapters,
                                   text::TableFormat format);

// Prints the result of a command that returns the cluster's status, which is the status or the
// error.
ExitStatus show_cluster(const model::ApiResult<model::ClusterStatus>& status,
                        const api::ApiClient& client, const Context& context);

}  // namespace paravane::cli
