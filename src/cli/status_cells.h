// Text of the daemon's status: its release, and how its last upgrade went.
//
// Stateless, any thread.

#pragma once

#include <string>

#include "model/stats.h"

namespace paravane::cli {

// The engine's version, and the keeper's if that is another.
std::string version_cell(const model::DaemonStatus& status);
std::string upgrade_cell(const model::DaemonStatus& status);

// What an upgrade that has succeeded left undone; empty: nothing.
std::string upgrade_warning(const model::DaemonStatus& status);

}  // namespace paravane::cli
