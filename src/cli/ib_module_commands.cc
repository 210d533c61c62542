// paravane infiniband module list, get, parameters, set, enable, disable; infiniband status.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/ib_module_json.h"
#include "cli/commands.h"
#include "cli/ib_module_actions.h"
#include "cli/ib_module_tables.h"
#include "cli/json_output.h"
#include "text/text_cell.h"

namespace paravane::cli {

using model::IbModuleStatus;

namespace {

bool is_json(const Context& context) {
  return context.format == text::TableFormat::kJson;
}

}  // namespace

model::ApiResult<IbModuleStatus> find_ib_module_status(api::ApiClient& client,
                                                       const std::string& name) {
  auto modules = client.list_ib_modules();
  if (!modules) return std::unexpected(modules.error());
  const auto found = std::ranges::find(*modules, name, &IbModuleStatus::name);
  if (found != modules->end()) return *found;
  const Status known = model::check_ib_module_name(name);
  return model::refuse(model::ApiErrorCode::kNotFound,
                       known ? "the daemon has no module " + name : known.error().message,
                       "List the modules with: paravane infiniband module list");
}

ExitStatus list_ib_modules(const Context& context) {
  api::ApiClient client = context.client();
  const auto modules = client.list_ib_modules();
  if (!modules) return report(modules.error(), client);
  fmt::print("{}", is_json(context) ? json_array<IbModuleStatus>(*modules, api::to_json)
                                    : ib_module_table(*modules).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus get_ib_module(const std::string& name, const Context& context) {
  api::ApiClient client = context.client();
  const auto status = find_ib_module_status(client, name);
  if (!status) return report(status.error(), client);
  if (context.format == text::TableFormat::kTable) {
    fmt::print("{}", ib_module_line(*status));
  } else {
    fmt::print("{}", is_json(context) ? pretty_json(api::to_json(*status))
                                      : ib_module_table({*status}).print(context.format));
  }
  return ExitStatus::kOk;
}

ExitStatus change_ib_module(const std::string& name, const model::IbModuleChange& change,
                            const Context& context) {
  api::ApiClient client = context.client();
  const auto changed = client.change_ib_module(name, change);
  if (!changed) return report(changed.error(), client);
  if (is_json(context)) fmt::print("{}", pretty_json(api::to_json(*changed)));
  note_empty(changed->setting != changed->in_effect,
             "the change takes effect with: paravane infiniband restart", context);
  for (const std::string& warning : changed->warnings)
    note_empty(true, "warning: " + text::printable(warning), context);
  return ExitStatus::kOk;
}

ExitStatus show_ib_status(const Context& context) {
  api::ApiClient client = context.client();
  const auto modules = client.list_ib_modules();
  if (!modules) return report(modules.error(), client);
  const auto adapters = client.list_ib_adapters();
  if (!adapters) return report(adapters.error(), client);
  fmt::print("{}", ib_status_table(*modules, *adapters, is_json(context)).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus restart_infiniband(const Context& context) {
  api::ApiClient client = context.client();
  const auto restarted = client.restart_infiniband();
  return restarted ? ExitStatus::kOk : report(restarted.error(), client);
}

namespace {

ExitStatus list_ib_parameters(const std::string& name, const Context& context) {
  api::ApiClient client = context.client();
  const auto status = find_ib_module_status(client, name);
  if (!status) return report(status.error(), client);
  const model::IbModule* module = model::find_ib_module(name);
  if (module == nullptr)
    return report_failure("this program does not know the parameters of module " + name,
                          "Use the program of the daemon's version.");
  fmt::print("{}", ib_parameter_table(*module, *status, is_json(context)).print(context.format));
  return ExitStatus::kOk;
}

using NamedAction = ExitStatus (*)(const std::string& name, const Context& context);

// Takes MODULE.
CLI::App* add_named(CLI::App& module, const char* command, const char* help,
                    const std::string& examples, NamedAction action, Run& run) {
  CLI::App* app = module.add_subcommand(command, help);
  auto name = std::make_shared<std::string>();
  app->add_option("MODULE", *name, "Name of the module, such as ib_ipoib")->required();
  app->footer("Examples:\n" + examples);
  app->callback([name, action, &run] {
    run = [name, action](const Context& context) { return action(*name, context); };
  });
  return app;
}

void add_module_set(CLI::App& module, Run& run) {
  CLI::App* set = module.add_subcommand("set", "Set all options of a module");
  auto name = std::make_shared<std::string>();
  auto options = std::make_shared<std::vector<std::string>>();
  set->add_option("MODULE", *name, "Name of the module, such as ib_ipoib")->required();
  set->add_option("OPTIONS", *options, "Options, parameter=value each (default: none)");
  set->footer(
      "The options replace all that were set before. They take effect with\n"
      "`paravane infiniband restart`.\n"
      "Examples:\n"
      "  paravane infiniband module set ib_ipoib ipoib_uplink_num=2\n"
      "  paravane infiniband module set mlx4_en port_types=13,1,1,13,2,2\n"
      "  paravane infiniband module set ib_ipoib");
  set->callback([name, options, &run] {
    run = [name, options](const Context& context) {
      std::string text;
      for (const std::string& word : *options) text += (text.empty() ? "" : " ") + word;
      return change_ib_module(*name, {.options = std::move(text)}, context);
    };
  });
}

}  // namespace

void add_ib_module_commands(CLI::App& infiniband, Run& run) {
  CLI::App* module = infiniband.add_subcommand("module", "Driver modules, and their parameters");
  module->require_subcommand(1);
  module->footer("Examples:\n  paravane infiniband module list");
  CLI::App* list = module->add_subcommand("list", "List the modules");
  list->footer(
      "Examples:\n"
      "  paravane infiniband module list\n"
      "  paravane infiniband module list --json");
  list->callback([&run] { run = list_ib_modules; });
  add_named(*module, "get", "Show whether a module is enabled, and its options",
            "  paravane infiniband module get ib_ipoib", get_ib_module, run);
  add_named(*module, "parameters", "List the parameters of a module",
            "  paravane infiniband module parameters ib_ipoib", list_ib_parameters, run);
  add_module_set(*module, run);
  add_named(
      *module, "enable", "Enable a module", "  paravane infiniband module enable ib_ipoib",
      [](const std::string& name, const Context& context) {
        return change_ib_module(name, {.is_enabled = true}, context);
      },
      run);
  add_named(
      *module, "disable", "Disable a module", "  paravane infiniband module disable ib_ipoib",
      [](const std::string& name, const Context& context) {
        return change_ib_module(name, {.is_enabled = false}, context);
      },
      run);

  CLI::App* status = infiniband.add_subcommand(
      "status", "Show the state of the modules and of the subnet manager");
  status->footer(
      "Examples:\n"
      "  paravane infiniband status\n"
      "  paravane infiniband status --json");
  status->callback([&run] { run = show_ib_status; });
}

}  // namespace paravane::cli
