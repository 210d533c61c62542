// Where log lines go: stderr, as text or as one JSON object per line.

#pragma once

#include "daemon/config.h"

namespace paravane::daemon {

void set_up_logging(const LogConfig& config);

}  // namespace paravane::daemon
