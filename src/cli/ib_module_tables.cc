#include "cli/ib_module_tables.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/version.h"
#include "text/text_cell.h"

namespace paravane::cli {

using model::IbModule;
using model::IbModuleStatus;
using model::IbParameter;
using model::IbParameterForm;

namespace {

std::string_view shown_type(const IbParameter& parameter) {
  switch (parameter.form) {
    case IbParameterForm::kNumber: return "int";
    case IbParameterForm::kPortNumbers: return "array of int";
    case IbParameterForm::kPortTypes: return "string";
    case IbParameterForm::kSwitch: return "bool";
  }
  return "string";
}

std::string shown_initial(const IbParameter& parameter) {
  switch (parameter.form) {
    case IbParameterForm::kPortTypes: return {};
    case IbParameterForm::kSwitch: return parameter.initial != 0 ? "TRUE" : "FALSE";
    case IbParameterForm::kNumber:
    case IbParameterForm::kPortNumbers: break;
  }
  return std::to_string(parameter.initial);
}

std::string shown_range(const IbParameter& parameter) {
  switch (parameter.form) {
    case IbParameterForm::kPortTypes: return "bus,port,type,...";
    case IbParameterForm::kSwitch: return "TRUE, FALSE";
    case IbParameterForm::kNumber:
    case IbParameterForm::kPortNumbers: break;
  }
  return fmt::format("{}-{}", parameter.least, parameter.most);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

bool waits_for_restart(const IbModuleStatus& status) {
  return status.setting != status.in_effect;
}

std::string problems_with_restart(const IbModuleStatus& status) {
  std::vector<std::string> problems = status.problems;
  if (waits_for_restart(status))
    problems.emplace_back("it was changed: apply it with: paravane infiniband restart");
  problems.insert(problems.end(), status.warnings.begin(), status.warnings.end());
  return joined(problems);
}

std::string_view state_of(const IbModuleStatus& status) {
  if (!status.in_effect.is_enabled) return "disabled";
  return status.is_loaded ? "loaded" : "not loaded";
}

// As typed after the parameter's name, either of them; empty: it is not set.
std::string set_value(const IbModule& module, const IbParameter& parameter,
                      std::string_view options) {
  while (!options.empty()) {
    const std::string_view word = options.substr(0, options.find(' '));
    options.remove_prefix(std::min(word.size() + 1, options.size()));
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos) continue;
    if (model::find_ib_parameter(module, word.substr(0, equal)) == &parameter)
      return std::string(word.substr(equal + 1));
  }
  return {};
}

// The port at which the master of the subnet is, or was; nullptr: it is of another host.
const model::IbPort* manager_port(const std::vector<model::IbAdapterStatus>& adapters,
                                  std::uint32_t lid) {
  for (const model::IbAdapterStatus& adapter : adapters) {
    for (const model::IbPort& port : adapter.ports) {
      if (port.lid == lid) return &port;
    }
  }
  return nullptr;
}

// Why no manager has set a port up, as the first of them says.
std::string lack_of_manager(const std::vector<model::IbAdapterStatus>& adapters) {
  for (const model::IbAdapterStatus& adapter : adapters) {
    for (const model::IbPort& port : adapter.ports) {
      if (port.state == model::IbPortState::kInitializing && !port.problem.empty())
        return port.problem;
    }
  }
  return "no subnet manager has set a port up: start opensm";
}

std::vector<text::TextTable::Cell> manager_row(
    const std::vector<model::IbAdapterStatus>& adapters) {
  std::uint32_t lid = 0;
  for (const model::IbAdapterStatus& adapter : adapters) {
    for (const model::IbPort& port : adapter.ports) {
      if (lid == 0) lid = port.sm_lid;
    }
  }
  if (lid == 0) {
    const std::string problem =
        adapters.empty() ? "this host has no InfiniBand adapter: add one with: paravane infiniband "
                           "adapter add"
                         : lack_of_manager(adapters);
    return {std::string("SM"), std::string("none"), std::string(), problem};
  }
  std::string detail = fmt::format("LID {}", lid);
  const model::IbPort* port = manager_port(adapters, lid);
  if (port != nullptr) detail += fmt::format(", 0x{:016x}", port->guid);
  // Of another host nothing is known of it.
  if (port != nullptr && !port->is_sm) {
    return {std::string("SM"), std::string("ended"), detail,
            std::string("the subnet manager at this port has ended: what is connected goes on, and "
                        "nothing new is. Start opensm again")};
  }
  return {std::string("SM"), std::string("master"), detail, std::string()};
}

}  // namespace

std::string ib_module_line(const IbModuleStatus& status) {
  return fmt::format("{} enabled = {} options = '{}'\n", text::printable(status.name),
                     status.setting.is_enabled ? 1 : 0, text::printable(status.setting.options));
}

std::string vmkload_information(const IbModule& module) {
  std::string text = fmt::format(
      "vmkload_mod module information\n input file: (built in)\n Version: Version {}\n"
      " License: Apache-2.0\n Parameters:\n",
      kVersion);
  for (const IbParameter& parameter : module.parameters) {
    const std::string initial = shown_initial(parameter);
    text +=
        fmt::format("  {}: {}\n    {} (default: {}; {})\n", parameter.name, shown_type(parameter),
                    parameter.help, initial.empty() ? "none" : initial, shown_range(parameter));
    if (!parameter.other_name.empty())
      text += fmt::format("  {}: {}\n    Other name of {}\n", parameter.other_name,
                          shown_type(parameter), parameter.name);
  }
  return text;
}

text::TextTable ib_module_table(const std::vector<IbModuleStatus>& modules) {
  text::TextTable table({"Module", "Enabled", "Loaded", "Options", "Problem"});
  for (const IbModuleStatus& status : modules) {
    table.add({status.name, status.setting.is_enabled, status.is_loaded, status.setting.options,
               problems_with_restart(status)});
  }
  return table;
}

text::TextTable ib_parameter_table(const IbModule& module, const IbModuleStatus& status,
                                   bool as_json) {
  text::TextTable table =
      as_json ? text::TextTable({"name", "type", "values", "default", "set", "description"})
              : text::TextTable({"Name", "Type", "Values", "Default", "Set", "Description"});
  for (const IbParameter& parameter : module.parameters) {
    std::string help(parameter.help);
    if (!parameter.other_name.empty()) help += fmt::format(" (also {})", parameter.other_name);
    table.add({std::string(parameter.name), std::string(shown_type(parameter)),
               shown_range(parameter), shown_initial(parameter),
               set_value(module, parameter, status.setting.options), help});
  }
  return table;
}

text::TextTable ib_status_table(const std::vector<IbModuleStatus>& modules,
                                const std::vector<model::IbAdapterStatus>& adapters, bool as_json) {
  text::TextTable table = as_json ? text::TextTable({"module", "state", "detail", "problem"})
                                  : text::TextTable({"Module", "State", "Detail", "Problem"});
  for (const IbModuleStatus& status : modules) {
    table.add({status.name, std::string(state_of(status)), status.summary,
               problems_with_restart(status)});
  }
  table.add(manager_row(adapters));
  return table;
}

}  // namespace paravane::cli
