// Loads the files of a cluster when this host starts, with three possible results: complete files,
// no files, or damaged files. Damaged files are never treated as missing, because they may be the
// only copy of a key.
//
// Errors: kIo, kInvalidArgument (damaged), with the file and the cause.

#pragma once

#include <optional>
#include <string>

#include "cluster/cluster_files.h"

namespace paravane::cluster {

// nullopt: this host is in no cluster. What a host that was ended while it made or gave up a
// cluster has left is taken away.
Result<std::optional<Membership>> load_member_files(const settings::ClusterPaths& paths);

// What this host is called in the cluster, as far as any of its files can tell; empty: none.
std::string find_host_name(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
