// The rates that `paravane stats --watch` shows, computed per second from two readings of the
// statistics. If a counter has a lower value than before, the daemon or the VM was restarted in the
// meantime. The rate is then computed as if the counter had started from 0.

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

// The table has a row for each adapter. A message is a send that was completed or a receive whose
// data was placed. Data that RDMA reads fetched counts as received.
text::TextTable vm_rate_table(const StatsInterval& interval);
text::TextTable qp_rate_table(const StatsInterval& interval);
// Only the counters that changed.
text::TextTable counter_rate_table(const StatsInterval& interval);
// An object for each adapter, such as {"vm": "db1", "adapter": 1, "sent_bytes_per_s": 1.5e9, ...}.
nlohmann::json rates_json(const StatsInterval& interval);

}  // namespace paravane::cli
