// paravane path list.

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/stats_tables.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

ExitStatus run_path(const std::string& name, const Context& context) {
  std::optional<std::string> vm;
  if (!name.empty()) {
    if (const Status good = model::check_name(name); !good) {
      return report_usage(fmt::format("vm {}: {}", name, good.error().message));
    }
    vm = name;
  }
  api::ApiClient client = context.client();
  const auto stats = client.stats(vm);
  if (!stats) return report(stats.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? pretty_json(connections_json(*stats))
                           : path_table(*stats).print(context.format));
  note_empty(path_table(*stats).empty(),
             "no connections now; list past events with: paravane events", context);
  return std::fflush(stdout) == 0 ? ExitStatus::kOk : ExitStatus::kFailed;
}

}  // namespace

void add_path_commands(CLI::App& parent, Run& run) {
  CLI::App* path =
      parent.add_subcommand("path", "Show the data path of each connection, and why it was chosen");
  path->require_subcommand(1);
  path->footer(
      "Examples:\n"
      "  paravane path list\n"
      "  paravane path list --vm db1");
  CLI::App* list = path->add_subcommand("list", "List connections with path, reason and counters");
  auto vm = std::make_shared<std::string>();
  list->add_option("--vm", *vm, "Show this VM only")->type_name("NAME");
  list->footer(
      "Paths, in order of preference: local (memory copy within this host), hca (an RDMA\n"
      "adapter of each of the two hosts), tcp (the channel to another host), roce (packets to a\n"
      "native RoCE endpoint outside of the cluster, or through a router to a VM of another port\n"
      "group).\n"
      "Examples:\n"
      "  paravane path list\n"
      "  paravane path list --vm db1 --formatter=json");
  list->callback(
      [vm, &run] { run = [vm](const Context& context) { return run_path(*vm, context); }; });
}

}  // namespace paravane::cli
