// Driver modules of the InfiniBand adapters, as tables and as the tools of the guide print them.

#pragma once

#include <string>
#include <vector>

#include "model/ib_module.h"
#include "model/ib_module_status.h"
#include "model/infiniband.h"
#include "text/text_table.h"

namespace paravane::cli {

// "ib_ipoib enabled = 1 options = 'ipoib_uplink_num=2'" and a newline, as `esxcfg-module -g`
// prints it.
std::string ib_module_line(const model::IbModuleStatus& status);
// What `vmkload_mod -s` prints of a module.
std::string vmkload_information(const model::IbModule& module);

text::TextTable ib_module_table(const std::vector<model::IbModuleStatus>& modules);
// `as_json`: its keys are names, as those of the API ("name"), and no titles.
text::TextTable ib_parameter_table(const model::IbModule& module,
                                   const model::IbModuleStatus& status, bool as_json);
// The output of `infiniband status` and of `mgmt-mlx status`: a row for each module, and one for
// the subnet manager. `as_json`: likewise.
text::TextTable ib_status_table(const std::vector<model::IbModuleStatus>& modules,
                                const std::vector<model::IbAdapterStatus>& adapters, bool as_json);

}  // namespace paravane::cli
