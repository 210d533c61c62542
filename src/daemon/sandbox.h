// Drops every privilege that the unprivileged process of the daemon does not need to serve VMs. The
// process becomes a dedicated user without capabilities, and belongs only to the groups of its
// sockets. It can use only the system calls in daemon/system_calls.h, and can write only to files
// in its own directories (daemon/file_rules.h). It ends when its parent ends.

#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "settings/config.h"
#include "settings/engine_account.h"

namespace paravane::daemon {

// `parent`: the process that created this one. The change is permanent, and after an error the
// process must end. REQUIRES: the process has only one thread. Errors: kIo.
Status enter_sandbox(const settings::EngineAccount& account, const settings::Config& config,
                     pid_t parent);

// The same for the holder (holder/holder.h), which may use no more than it needs to receive, hold
// and send descriptors.
Status enter_holders_sandbox(const settings::EngineAccount& account, const settings::Config& config,
                             pid_t parent);

// Drops the rights that only the start needs. Call it when everything that was configured has been
// started. Errors: kIo.
Status close_sandbox(const settings::SandboxConfig& config);

}  // namespace paravane::daemon
