// Statistics as tables: per VM, per queue pair, and every counter there is. A VM's
// further adapters have rows of their own, as model::AdapterName names them.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "model/stats.h"
#include "text/text_table.h"

namespace paravane::cli {

// "db1", or "db1/2" for a further adapter.
std::string subject_of(const model::VmStats& vm);
// 0: there is no such counter.
std::uint64_t counter_of(const model::VmStats& vm, std::string_view group,
                         std::string_view counter);
// Of its connections, such as "local,tcp"; "-": there are none.
std::string paths_of(const model::VmStats& vm);

// One row per adapter: operations, bytes, errors, path.
text::TextTable vm_table(const model::Stats& stats);
// One row per queue pair.
text::TextTable qp_table(const model::Stats& stats);
// One row per connection: where it leads, and why that way.
text::TextTable path_table(const model::Stats& stats);
// One row per counter and object, of the daemon and of each VM.
text::TextTable counter_table(const model::Stats& stats);

// The same rows as JSON: the API's objects, with "vm" and "adapter"; those of the daemon have
// null there.
nlohmann::json queue_pairs_json(const model::Stats& stats);
nlohmann::json connections_json(const model::Stats& stats);
nlohmann::json counters_json(const model::Stats& stats);

}  // namespace paravane::cli
