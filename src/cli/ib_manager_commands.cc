// paravane infiniband sm list, add, remove.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "api/infiniband_json.h"
#include "cli/commands.h"
#include "cli/infiniband_tables.h"
#include "cli/json_output.h"
#include "model/distributed_switch.h"

namespace paravane::cli {
namespace {

ExitStatus run_list_ib_managers(const Context& context) {
  api::ApiClient client = context.client();
  const auto managers = client.list_ib_managers();
  if (!managers) return report(managers.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::IbManager>(*managers, api::to_json)
                           : ib_manager_table(*managers).print(context.format));
  return ExitStatus::kOk;
}

// The host is named, and may come later.
void note_unheard(const std::string& host, api::ApiClient& client, const Context& context) {
  const auto managers = client.list_ib_managers();
  if (!managers) return;
  const auto named = std::ranges::find(*managers, host, &model::IbManager::host);
  if (named == managers->end()) return;
  note_empty(!named->problem.empty(),
             fmt::format("host {} is named; nothing comes from it now: {}", host, named->problem),
             context);
}

ExitStatus run_change_ib_manager(const std::string& host, bool is_added, const Context& context) {
  if (const Status good = model::check_host_name(host); !good)
    return report_usage(good.error().message);
  api::ApiClient client = context.client();
  const auto changed = is_added ? client.add_ib_manager(host) : client.remove_ib_manager(host);
  if (!changed) return report(changed.error(), client);
  if (is_added) note_unheard(host, client, context);
  return ExitStatus::kOk;
}

CLI::App* add_change(CLI::App& managers, const std::string& name, const std::string& help,
                     bool is_added, Run& run) {
  CLI::App* change = managers.add_subcommand(name, help);
  auto host = std::make_shared<std::string>();
  change->add_option("HOST", *host, "Name of a host of the cluster")->required();
  change->callback([host, is_added, &run] {
    run = [host, is_added](const Context& context) {
      return run_change_ib_manager(*host, is_added, context);
    };
  });
  return change;
}

}  // namespace

void add_ib_manager_commands(CLI::App& infiniband, Run& run) {
  CLI::App* managers = infiniband.add_subcommand(
      "sm", "Hosts whose subnet managers may manage this host's part of the subnet");
  managers->require_subcommand(1);
  managers->footer("Examples:\n  paravane infiniband sm add h2");
  CLI::App* list = managers->add_subcommand("list", "List the hosts; this host is always one");
  list->footer(
      "Examples:\n"
      "  paravane infiniband sm list\n"
      "  paravane infiniband sm list --json");
  list->callback([&run] { run = run_list_ib_managers; });
  add_change(*managers, "add", "Take subnet management from a host of the cluster", true, run)
      ->footer(
          "A subnet manager decides over all partitions and routes. Each host of the cluster "
          "names\n"
          "the hosts with one itself.\n"
          "Examples:\n"
          "  paravane infiniband sm add h2");
  add_change(*managers, "remove", "Refuse subnet management from a host", false, run)
      ->footer("Examples:\n  paravane infiniband sm remove h2");
}

}  // namespace paravane::cli
