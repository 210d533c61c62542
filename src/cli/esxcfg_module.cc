// esxcfg-module and vicfg-module, vmkload_mod, esxcfg-advcfg and mgmt-mlx, as the InfiniBand guide
// types them: what each does is a command of `paravane infiniband`, too.

#include <fmt/core.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/ib_module_actions.h"
#include "cli/ib_module_tables.h"

namespace paravane::cli {
namespace {

struct EsxcfgModuleOptions {
  std::string module;
  std::string options;
  std::string server;
  bool lists = false;
  bool gets = false;
  bool sets = false;
  model::IbModuleChange change;
};

ExitStatus run_esxcfg_module(const EsxcfgModuleOptions& options, const Context& context) {
  if (!options.server.empty())
    return report_usage("--server: another host cannot be reached from here",
                        "Run the command there: ssh " + options.server + " " +
                            std::string(program_name()) + " ...");
  if (options.lists) return list_ib_modules(context);
  if (options.module.empty())
    return report_usage("MODULE is missing", "List the modules with: esxcfg-module -l");
  if (options.change == model::IbModuleChange()) return get_ib_module(options.module, context);
  return change_ib_module(options.module, options.change, context);
}

ExitStatus run_vmkload_mod(const std::string& name, bool lists, const Context& context) {
  if (lists) return list_ib_modules(context);
  if (name.empty())
    return report_usage("MODULE is missing", "List the modules with: vmkload_mod -l");
  const model::IbModule* module = model::find_ib_module(name);
  if (module == nullptr)
    return report_failure(model::check_ib_module_name(name).error().message,
                          "List the modules with: vmkload_mod -l");
  fmt::print("{}", vmkload_information(*module));
  return ExitStatus::kOk;
}

struct AdvcfgOptions {
  std::string value;  // empty: it is shown
  std::string key;
};

ExitStatus run_esxcfg_advcfg(const AdvcfgOptions& options, const Context& context) {
  const model::IbModule& kernel = *model::find_ib_module(model::kModuleKernel);
  if (model::find_ib_parameter(kernel, options.key) == nullptr)
    return report_usage("there is no kernel option " + options.key,
                        fmt::format("There is one: {}.", model::kNetQueueEnabled));
  const std::string name(kernel.name);
  api::ApiClient client = context.client();
  const auto status = find_ib_module_status(client, name);
  if (!status) return report(status.error(), client);
  if (!options.value.empty()) {
    std::string text =
        model::with_ib_option(kernel, status->setting.options, options.key, options.value);
    return change_ib_module(name, {.options = std::move(text)}, context);
  }
  const auto set = model::parse_ib_options(kernel, status->setting.options);
  if (!set) return report_failure(set.error().message, "");
  fmt::print("{} = {}\n", options.key,
             model::ib_value(kernel, *set, options.key) != 0 ? "TRUE" : "FALSE");
  return ExitStatus::kOk;
}

}  // namespace

void add_esxcfg_module(CLI::App& root, Run& run) {
  root.description("Driver modules of the InfiniBand adapters, as esxcfg-module of vSphere 4.");
  root.footer(
      "Changes take effect with: paravane infiniband restart\n"
      "Examples:\n"
      "  esxcfg-module -l\n"
      "  esxcfg-module -s 'port_type_default=1' mlx4_en\n"
      "  esxcfg-module ib_ipoib -g\n"
      "See also paravane(1).");
  auto options = std::make_shared<EsxcfgModuleOptions>();
  root.add_option("MODULE", options->module, "Name of the module, such as ib_ipoib");
  CLI::Option* list = root.add_flag("-l,--list", options->lists, "List the modules");
  CLI::Option* get = root.add_flag("-g,--get-options", options->gets,
                                   "Show the options of the module (the default)");
  CLI::Option* set = root.add_option_function<std::string>(
      "-s,--set-options", [options](const std::string& text) { options->change.options = text; },
      "Set all options of the module");
  set->type_name("OPTIONS");
  CLI::Option* enable = root.add_flag_callback(
      "-e,--enable", [options] { options->change.is_enabled = true; }, "Enable the module");
  CLI::Option* disable = root.add_flag_callback(
      "-d,--disable", [options] { options->change.is_enabled = false; }, "Disable the module");
  enable->excludes(disable);
  for (CLI::Option* change : {set, enable, disable}) {
    get->excludes(change);
    list->excludes(change);
  }
  root.add_option("--server", options->server)
      ->description("Refused: run the command on that host")
      ->type_name("HOST");
  root.callback([options, &run] {
    run = [options](const Context& context) { return run_esxcfg_module(*options, context); };
  });
}

void add_vmkload_mod(CLI::App& root, Run& run) {
  root.description("Parameters of a driver module, as vmkload_mod of vSphere 4 prints them.");
  root.footer("Examples:\n  vmkload_mod ib_ipoib -s\nSee also paravane(1).");
  auto name = std::make_shared<std::string>();
  auto lists = std::make_shared<bool>(false);
  root.add_option("MODULE", *name, "Name of the module, such as ib_ipoib");
  root.add_flag("-s,--showinfo")->description("Show the parameters of the module (the default)");
  root.add_flag("-l,--list", *lists, "List the modules");
  root.callback([name, lists, &run] {
    run = [name, lists](const Context& context) { return run_vmkload_mod(*name, *lists, context); };
  });
}

void add_esxcfg_advcfg(CLI::App& root, Run& run) {
  root.description("Kernel options of this host, as esxcfg-advcfg of vSphere 4 sets them.");
  root.footer(
      "Changes take effect with: paravane infiniband restart\n"
      "Examples:\n"
      "  esxcfg-advcfg -k TRUE netNetqueueEnabled\n"
      "  esxcfg-advcfg -j netNetqueueEnabled\n"
      "See also paravane(1).");
  auto options = std::make_shared<AdvcfgOptions>();
  root.add_option("OPTION", options->key, "Name of the option: netNetqueueEnabled")->required();
  CLI::Option* set = root.add_option("-k,--set-kernel", options->value, "Set the option");
  set->type_name("VALUE");
  CLI::Option* get = root.add_flag("-j,--get-kernel");
  get->description("Show the option (the default)");
  get->excludes(set);
  root.callback([options, &run] {
    run = [options](const Context& context) { return run_esxcfg_advcfg(*options, context); };
  });
}

void add_mgmt_mlx(CLI::App& root, Run& run) {
  root.description(
      "The InfiniBand driver and its protocols on this host, as the guide's mgmt-mlx.");
  root.require_subcommand(1);
  root.footer("Examples:\n  mgmt-mlx status\nSee also paravane(1).");
  CLI::App* status =
      root.add_subcommand("status", "Show the state of the modules and of the subnet manager");
  status->footer("Examples:\n  mgmt-mlx status");
  status->callback([&run] { run = show_ib_status; });
  CLI::App* restart = root.add_subcommand("restart", "Restart all InfiniBand adapters");
  restart->footer("Examples:\n  mgmt-mlx restart");
  restart->callback([&run] { run = restart_infiniband; });
}

}  // namespace paravane::cli
