// What changed between two looks at the statistics, per second: what `paravane stats --watch`
// shows. A counter that went back belongs to a daemon or VM that began again, and counts from 0.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/stats.h"
#include "text/text_table.h"

namespace paravane::cli {

struct StatsInterval {
  const model::Stats& before;
  const model::Stats& now;
  double seconds;  // between them, more than 0
};

// A row for each adapter. A message is a send that was completed or a receive that was placed;
// what RDMA reads fetched is received.
text::TextTable vm_rate_table(const StatsInterval& interval);
text::TextTable qp_rate_table(const StatsInterval& interval);
// Those that changed.
text::TextTable counter_rate_table(const StatsInterval& interval);
// {"vm": "db1", "adapter": 1, "sent_bytes_per_s": 1.5e9, ...} for each adapter.
nlohmann::json rates_json(const StatsInterval& interval);

}  // namespace paravane::cli
