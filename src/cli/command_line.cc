#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <vector>

#include "cli/commands.h"
#include "cli/version.h"

namespace paravane::cli {
namespace {

void add_shared_options(CLI::App& app, Context& context) {
  app.set_version_flag("--version", std::string("paravane ") + kVersion);
  app.add_option("--socket", context.socket,
                 "The daemon's socket (PARAVANE_SOCKET, else /run/paravane/api.sock)")
      ->type_name("PATH");
  app.add_option_function<std::string>(
         "--formatter",
         [&context](const std::string& name) {
           context.format =
               control::parse_table_format(name).value_or(control::TableFormat::kTable);
         },
         "How to print (table)")
      ->type_name("table|json|csv")
      ->check(CLI::IsMember({"table", "json", "csv"}).description(""));
}

// The command that the words lead to: its help is the one to read.
const CLI::App& deepest_command(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : deepest_command(*subcommands.back());
}

// What is wrong with the command line, by the name of the command it is wrong for.
std::string explain(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& command = deepest_command(app);
  std::string path = command.get_name();
  for (const CLI::App* up = command.get_parent(); up != nullptr; up = up->get_parent()) {
    path.insert(0, up->get_name() + " ");
  }
  std::string problem = error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  // CLI11 misses the command first, and does not name what stands in its place.
  if (error.get_name() == "RequiredError" && command.get_require_subcommand_min() > 0) {
    problem = "a command is missing";
    if (!unknown.empty()) {
      const bool option = unknown.front().starts_with('-');
      problem = std::string("there is no ") + (option ? "option " : "command ") + unknown.front();
    }
  }
  return "paravane: " + problem + "\n  See: " + path + " --help\n";
}

}  // namespace

ExitStatus run_command_line(std::span<const char* const> arguments) {
  CLI::App app("RDMA adapters (PVRDMA) for the VMs of this host.", "paravane");
  Context context;
  Run run;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread
  const char* socket = std::getenv("PARAVANE_SOCKET");
  if (socket != nullptr && *socket != '\0') context.socket = socket;
  add_shared_options(app, context);
  app.require_subcommand(1);
  app.fallthrough();  // --formatter and --socket may also follow the command
  app.failure_message(
      [](const CLI::App* failed, const CLI::Error& error) { return explain(*failed, error); });
  app.footer(
      "Examples:\n"
      "  paravane vm add db1\n"
      "  paravane stats --vm db1 --watch\n"
      "Exit status: 0 done, 1 failed, 2 wrong command line, 3 no daemon answers,\n"
      "4 refused because VMs are attached. See also paravane(1).");
  add_vm_commands(app, run);
  add_vds_commands(app, run);
  add_portgroup_commands(app, run);
  add_impair_commands(app, run);
  add_status_command(app, run);
  add_stats_command(app, run);
  add_path_commands(app, run);
  add_cluster_commands(app, run);
  add_daemon_commands(app, run);
  add_completion_command(app, run);
  try {
    // CLI11 takes them last word first.
    std::vector<std::string> words(arguments.rbegin(), arguments.rend());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitStatus::kOk : ExitStatus::kUsage;
  }
  return run(context);
}

}  // namespace paravane::cli
