// The counters of an adapter and of the parts that adapters share, as plain values for the metrics
// page.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/stats.h"
#include "worker/path_name.h"

namespace paravane::worker {

// Counters that become metrics by themselves: paravane_PREFIX_NAME, with these labels.
struct MetricGroup {
  std::string prefix;
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<model::CounterValue> counters{};
};

// What an adapter holds, and may hold.
struct ObjectUse {
  std::string kind;
  std::uint64_t held = 0;
  std::uint64_t limit = 0;
};

// One adapter whose port is there.
struct AdapterMetrics {
  std::vector<model::CounterGroup> groups{};
  std::vector<ObjectUse> objects{};
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t page_list_bytes = 0;
  std::uint64_t page_list_limit_bytes = 0;
  std::map<PathName, std::uint64_t> paths{};  // how many connections take each
  std::vector<model::QpStats> queue_pairs{};  // that have series of their own
  model::QpStats other_queue_pairs{};         // what all others did
  std::uint64_t other_count = 0;
};

}  // namespace paravane::worker
