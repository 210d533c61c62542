// Drops every privilege that serving guests does not need: the process becomes a dedicated user,
// in no groups except those of its sockets, without capabilities now or later, restricted to the
// system calls in daemon/system_calls.h and to writing files in its own directories
// (daemon/file_rules.h). It ends when its parent does.

#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "settings/config.h"
#include "settings/engine_account.h"

namespace paravane::daemon {

// REQUIRES: no threads yet. `parent`: the process that created this one. There is no way back;
// after an error the process must end. Errors: kIo.
Status enter_sandbox(const settings::EngineAccount& account, const settings::Config& config,
                     pid_t parent);

// When all that was there at the start is served: gives up what only starting takes.
// Errors: kIo.
Status close_sandbox(const settings::SandboxConfig& config);

}  // namespace paravane::daemon
