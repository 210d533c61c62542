// paravane system settings advanced list, set; network firewall ruleset list, set.

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "cli/esxcli_tree.h"
#include "cli/vmkernel_tables.h"

namespace paravane::cli {
namespace {

struct SettingOptions {
  std::string path;
  std::optional<std::string> text;
  std::optional<std::string> number;
  bool standard = false;
};

ExitStatus no_such_setting(const std::string& path) {
  std::vector<std::string> paths;
  for (const auto& setting : model::advanced_settings()) paths.emplace_back(setting.path);
  return report_failure(
      fmt::format("there is no setting {}", path),
      do_you_mean(path, paths) + "List the settings with: paravane system settings advanced list");
}

ExitStatus run_setting_list(const SettingOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  auto configuration = client.vmkernel_configuration();
  if (!configuration) return report(configuration.error(), client);
  if (!options.path.empty()) {
    std::erase_if(configuration->settings,
                  [&](const model::SettingValue& one) { return one.path != options.path; });
    if (configuration->settings.empty()) return no_such_setting(options.path);
  }
  fmt::print("{}", text::print_records(setting_records(configuration->settings), context.format));
  return ExitStatus::kOk;
}

ExitStatus run_setting_set(const SettingOptions& options, const Context& context) {
  const model::AdvancedSetting* setting = model::find_setting(options.path);
  if (setting == nullptr) return no_such_setting(options.path);
  const bool is_number = setting->type == model::AdvancedSetting::Type::kInteger;
  const char* const option = is_number ? "--int-value" : "--string-value";
  const std::optional<std::string>& given = is_number ? options.number : options.text;
  if (!given && !options.standard) {
    return report_usage(
        fmt::format("{} is {}: {}", options.path, is_number ? "a number" : "a text", option));
  }
  const std::string value = options.standard ? std::string(setting->standard) : *given;
  if (const Status good = model::check_setting(*setting, value); !good) {
    return report_usage(fmt::format("{}: {}", good.error().message, option));
  }
  api::ApiClient client = context.client();
  const auto done = client.set_setting({.path = options.path, .value = value});
  return done ? ExitStatus::kOk : report(done.error(), client);
}

ExitStatus run_ruleset_list(const model::FirewallRuleset& wanted, const Context& context) {
  api::ApiClient client = context.client();
  auto configuration = client.vmkernel_configuration();
  if (!configuration) return report(configuration.error(), client);
  std::vector<model::FirewallRuleset>& rulesets = configuration->rulesets;
  if (!wanted.name.empty()) {
    std::vector<std::string> names;
    names.reserve(rulesets.size());
    for (const model::FirewallRuleset& one : rulesets) names.push_back(one.name);
    std::erase_if(rulesets, [&](const auto& one) { return one.name != wanted.name; });
    if (rulesets.empty()) {
      return report_failure(fmt::format("there is no firewall ruleset {}", wanted.name),
                            do_you_mean(wanted.name, names) +
                                "List the rulesets with: paravane network firewall ruleset list");
    }
  }
  fmt::print("{}", ruleset_table(rulesets).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_ruleset_set(const model::FirewallRuleset& ruleset, const Context& context) {
  api::ApiClient client = context.client();
  const auto done = client.set_ruleset(ruleset);
  return done ? ExitStatus::kOk : report(done.error(), client);
}

template <typename Options>
std::shared_ptr<Options> take_options(CLI::App& command, Run& run,
                                      ExitStatus (*action)(const Options&, const Context&)) {
  auto options = std::make_shared<Options>();
  command.callback([options, action, &run] {
    run = [options, action](const Context& context) { return action(*options, context); };
  });
  return options;
}

void add_setting_commands(CLI::App& root, Run& run) {
  CLI::App& list = add_esxcli_command(
      root, "system settings advanced list", "List the advanced settings of this host",
      {"system settings advanced list", "system settings advanced list -o /Net/PVRDMAVmknic"});
  list.add_option("-o,--option", take_options(list, run, run_setting_list)->path,
                  "Show only this setting")
      ->type_name("PATH");
  CLI::App& set =
      add_esxcli_command(root, "system settings advanced set", "Change an advanced setting",
                         {"system settings advanced set -o /Net/PVRDMAVmknic -s vmk1",
                          "system settings advanced set -o /Net/PVRDMAVmknic -d"});
  const auto options = take_options(set, run, run_setting_set);
  set.add_option("-o,--option", options->path, "Name of the setting")
      ->type_name("PATH")
      ->required();
  auto* values = set.add_option_group("value", "New value");
  values->add_option("-s,--string-value", options->text, "New text")->type_name("TEXT");
  values->add_option("-i,--int-value", options->number, "New number")->type_name("NUMBER");
  values->add_flag("-d,--default", options->standard, "Reset to the default");
  values->require_option(1);
}

void add_ruleset_commands(CLI::App& root, Run& run) {
  CLI::App& list = add_esxcli_command(root, "network firewall ruleset list",
                                      "List the firewall rulesets of this host");
  list.add_option("-r,--ruleset-id", take_options(list, run, run_ruleset_list)->name,
                  "Show only this ruleset")
      ->type_name("NAME");
  CLI::App& set =
      add_esxcli_command(root, "network firewall ruleset set", "Enable or disable a ruleset",
                         {"network firewall ruleset set -e true -r pvrdma"});
  const auto ruleset = take_options(set, run, run_ruleset_set);
  set.add_option("-r,--ruleset-id", ruleset->name, "Name of the ruleset")
      ->type_name("NAME")
      ->required();
  set.add_option("-e,--enabled", ruleset->enabled, "Whether the ruleset allows traffic")
      ->type_name("true|false")
      ->required();
}

}  // namespace

void add_system_commands(CLI::App& root, Run& run) {
  add_setting_commands(root, run);
  add_ruleset_commands(root, run);
}

}  // namespace paravane::cli
