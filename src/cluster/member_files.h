// Loads the files of a cluster when this host starts. The files can be complete, missing, or
// damaged. Damaged files are never treated as missing, because they could be the only copy of a
// key.
//
// Errors: kIo, kInvalidArgument (damaged), with the file and the cause.

#pragma once

#include <optional>
#include <string>

#include "cluster/cluster_files.h"

namespace paravane::cluster {

// nullopt: this host is not in a cluster. Files that remain because the host was stopped while it
// created or left a cluster are removed.
Result<std::optional<Membership>> load_member_files(const settings::ClusterPaths& paths);

// This host's name in the cluster, from any file that contains it; empty: no file does.
std::string find_host_name(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
