// Keeps copies of the files that a promotion of this host replaces, until the promotion is
// complete. If the promotion fails or is interrupted, the copies are restored, and this host
// continues as the member that it was before.
//
// The file with the membership is replaced last. After a restart, settle_promotion() reads it to
// decide which set of files is valid.
//
// Any thread.

#pragma once

#include "base/result.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

// Makes the copies. Errors: kIo (no copies are left in that case).
Status keep_before_promotion(const settings::ClusterPaths& paths);

// Puts the copies back, or deletes them if this host has the authority now. Does nothing if there
// are no copies or if the membership cannot be read. Errors: kIo; call it again later.
Status settle_promotion(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
