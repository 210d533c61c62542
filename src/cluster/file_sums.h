// Checksums (SHA-256) of the files that are written only once, when this host enters a cluster.
// They detect damage on the disk. The file that contains the checksums has the format of sha256sum.
// Older versions of Paravane ignore this file.
//
// Errors: kIo (with path and cause), kInvalidArgument (damaged).

#pragma once

#include <string_view>

#include "base/result.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

// Stores the checksums. Call it before the membership file is replaced by `membership`. The
// checksum of the present file stays valid as well, in case the host stops in between.
Status keep_sums(const settings::ClusterPaths& paths, std::string_view membership);

// A file without a stored checksum is not checked.
Status check_sums(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
