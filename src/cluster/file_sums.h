// File sums: the SHA-256 checksums of the files that are written once, when this host enters a
// cluster. They are stored in a file in the format of sha256sum. An older version ignores that file
// and works with the same files.
//
// Errors: kIo (with path and cause), kInvalidArgument (damaged).

#pragma once

#include <string_view>

#include "base/result.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

// Before the membership is written, whose text it will be. What it is until then stays good,
// whatever ends the host in between.
Status keep_sums(const settings::ClusterPaths& paths, std::string_view membership);

// Without sums, or for a file that they do not name, all is good.
Status check_sums(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
