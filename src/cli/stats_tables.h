// Statistics as tables: per VM, per queue pair, and every counter there is. A VM's
// further adapters have rows of their own, as model::AdapterName names them.

#pragma once

#include "model/stats.h"
#include "text/text_table.h"

namespace paravane::cli {

// One row per adapter: operations, bytes, errors, path.
text::TextTable vm_table(const model::Stats& stats);
// One row per queue pair.
text::TextTable qp_table(const model::Stats& stats);
// One row per connection: where it leads, and why that way.
text::TextTable path_table(const model::Stats& stats);
// One row per counter and object, of the daemon and of each VM.
text::TextTable counter_table(const model::Stats& stats);

}  // namespace paravane::cli
