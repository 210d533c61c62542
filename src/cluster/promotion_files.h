// Copies of the files that a promotion replaces. They are kept until the promotion is complete: if
// it fails or is interrupted, this host goes on as the member that it was before.
//
// The membership file is replaced last and decides which set of files is used; settle_promotion()
// reads it.
//
// Any thread.

#pragma once

#include "base/result.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

// Errors: kIo (nothing is kept then).
Status keep_before_promotion(const settings::ClusterPaths& paths);

// Puts the copies back, or deletes them if this host has the authority now. Does nothing if there
// are no copies or the membership cannot be read. Errors: kIo; call it again then.
Status settle_promotion(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
