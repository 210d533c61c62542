// Prints the status of a cluster: this host's role in it, and a row for each host.

#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "model/cluster.h"
#include "text/text_table.h"

namespace paravane::cli {

// In JSON it is what the API shows; in CSV the hosts alone.
std::string print_cluster(const model::ClusterStatus& status, text::TableFormat format);

// The VMs of all hosts, a row for each adapter.
std::string print_cluster_adapters(const std::vector<model::ClusterAdapter>& adapters,
                                   text::TableFormat format);

// What a command that asked for it says: the status, or what was refused.
ExitStatus show_cluster(const model::ApiResult<model::ClusterStatus>& status,
                        const api::ApiClient& client, const Context& context);

}  // namespace paravane::cli
