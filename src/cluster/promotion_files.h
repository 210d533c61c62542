// Copies of the files that a promotion replaces. They are kept until it is complete, so that a
// promotion that fails or is killed half way leaves this host the member that it was.
//
// The membership is replaced last and decides which set of files counts: settle_promotion() reads
// it.
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
