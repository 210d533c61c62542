// A cluster as text: what this host is in it, and a row for each host.

#pragma once

#include <string>

#include "control/cluster.h"
#include "control/text_table.h"

namespace paravane::cli {

// In JSON it is what the API shows; in CSV the hosts alone.
std::string print_cluster(const control::ClusterStatus& status, control::TableFormat format);

}  // namespace paravane::cli
