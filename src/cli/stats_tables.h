// Statistics as tables: per VM, per queue pair, and every counter there is. A VM's
// further adapters have rows of their own, as control::adapter_name() names them.

#pragma once

#include "control/stats.h"
#include "control/text_table.h"

namespace paravane::cli {

// One row per adapter: operations, bytes, errors, path.
control::TextTable vm_table(const control::Stats& stats);
// One row per queue pair.
control::TextTable qp_table(const control::Stats& stats);
// One row per connection: where it leads, and why that way.
control::TextTable path_table(const control::Stats& stats);
// One row per counter and object, of the daemon and of each VM.
control::TextTable counter_table(const control::Stats& stats);

}  // namespace paravane::cli
