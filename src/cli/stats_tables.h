// Statistics as tables, with a row per adapter, per queue pair, per connection, or per counter. The
// first adapter of a VM is shown under the name of the VM, and each further adapter under a name
// such as "db1/2" (model/adapter_name.h).

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "model/stats.h"
#include "text/text_table.h"

namespace paravane::cli {

// The name of the adapter, which is "db1" for the first adapter of a VM and "db1/2" for its second.
std::string subject_of(const model::VmStats& vm);
// The value of a counter; 0 if no such counter exists.
std::uint64_t counter_of(const model::VmStats& vm, std::string_view group,
                         std::string_view counter);
// The kinds of path that the VM's connections use, such as "local,tcp"; "-": the VM has no
// connection.
std::string paths_of(const model::VmStats& vm);

// One row per adapter, with its operations, bytes, errors and paths.
text::TextTable vm_table(const model::Stats& stats);
// One row per queue pair.
text::TextTable qp_table(const model::Stats& stats);
// One row per connection, with its peer, its path and the reason for that path.
text::TextTable path_table(const model::Stats& stats);
// One row per counter of the daemon and of each adapter.
text::TextTable counter_table(const model::Stats& stats);

// The same rows as JSON. Each is an object of the API with the additional keys "vm" and "adapter",
// which are null for objects of the daemon.
nlohmann::json queue_pairs_json(const model::Stats& stats);
nlohmann::json connections_json(const model::Stats& stats);
nlohmann::json counters_json(const model::Stats& stats);

}  // namespace paravane::cli
