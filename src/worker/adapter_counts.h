// Defines plain values for the counters and the resource use of an adapter, and for the counters of
// the objects that all adapters share. The metrics page is printed from them.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/stats.h"
#include "worker/path_name.h"

namespace paravane::worker {

// Counters that become metrics with the name paravane_PREFIX_NAME and these labels.
struct MetricGroup {
  std::string prefix;
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<model::CounterValue> counters{};
};

// How many objects of a kind an adapter has, and how many it may have.
struct ObjectUse {
  std::string kind;
  std::uint64_t held = 0;
  std::uint64_t limit = 0;
};

// The metrics of one adapter, which the worker has a port for.
struct AdapterMetrics {
  std::vector<model::CounterGroup> groups{};
  std::vector<ObjectUse> objects{};
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t page_list_bytes = 0;
  std::uint64_t page_list_limit_bytes = 0;
  bool roce_open = false;     // whether it reaches native endpoints
  std::string roce_closed{};  // why it does not
  // How many ways through routers its connections use, by what probes say of them.
  std::map<std::string, std::uint64_t> routed_ways{};
  std::map<PathName, std::uint64_t> paths{};  // how many connections take each
  std::vector<model::QpStats> queue_pairs{};  // that have series of their own
  model::QpStats other_queue_pairs{};         // what all others did
  std::uint64_t other_count = 0;
};

}  // namespace paravane::worker
