// The files that a promotion replaces, as they were before, until it is done: so that one which
// fails, or is killed in the middle, leaves this host the member that it was.
//
// The membership says which of both counts, and is replaced last: settle_promotion() looks at it.
//
// Any thread.

#pragma once

#include "base/result.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

// Errors: kIo (nothing is kept then).
Status keep_before_promotion(const settings::ClusterPaths& paths);

// Takes what was kept back, or away where this host has the authority now. Does nothing where
// nothing was kept, nor with a membership that cannot be read. Errors: kIo; to be called again.
Status settle_promotion(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
