#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest_name.h"
#include "cli/commands.h"
#include "cli/esxcli_tree.h"
#include "cli/help_formatter.h"
#include "cli/parser_words.h"
#include "cli/version.h"

namespace paravane::cli {
namespace {

void add_shared_options(CLI::App& app, Context& context) {
  app.formatter(std::make_shared<HelpFormatter>());  // commands take it over
  app.set_help_flag("-h,--help", "Show this help");
  app.set_version_flag("-v,--version", std::string("paravane ") + kVersion, "Show the version");
  app.add_option("--socket", context.socket,
                 "Daemon socket (default: PARAVANE_SOCKET or /run/paravane/api.sock)")
      ->type_name("PATH");
  app.add_option_function<std::string>(
         "--formatter",
         [&context](const std::string& name) {
           context.format = text::parse_table_format(name).value_or(text::TableFormat::kTable);
         },
         "Output format (default: table)")
      ->type_name("table|json|csv")
      ->check(CLI::IsMember({"table", "json", "csv"}).description(""));
  app.add_flag_callback(
      "--json", [&context] { context.format = text::TableFormat::kJson; },
      "Same as --formatter json");
}

// The command that the words lead to: its help is the one to read.
const CLI::App& deepest_command(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : deepest_command(*subcommands.back());
}

using Words = std::vector<std::string>;

// The command that `word`, which is none, was written after: in "clutser status" it is
// the program itself, although status is a command of it.
const CLI::App& command_before(const CLI::App& app, const Words& words, const std::string& word) {
  const CLI::App* command = &app;
  auto at = words.begin();
  const auto end = std::ranges::find(words, word);
  for (;;) {
    const auto subcommands = command->get_subcommands();
    if (subcommands.empty()) return *command;
    at = std::find(at, end, subcommands.front()->get_name());
    if (at == end) return *command;
    command = subcommands.front();
  }
}

std::string path_of(const CLI::App& command) {
  std::string path = command.get_name();
  for (const CLI::App* up = command.get_parent(); up != nullptr; up = up->get_parent()) {
    path.insert(0, up->get_name() + " ");
  }
  return path;
}

std::string no_command(const CLI::App& command, const std::string& word) {
  Words names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  const auto near = nearest_name(word, names);
  return "there is no command " + word + (near ? "; do you mean " + *near + "?" : "");
}

// A word that looks like an option: "--formater=json", "-x", but not "-1".
bool looks_like_option(const std::string& word) {
  const std::size_t start = word.find_first_not_of('-');
  return word.starts_with('-') && start != std::string::npos &&
         ((word[start] >= 'a' && word[start] <= 'z') || (word[start] >= 'A' && word[start] <= 'Z'));
}

std::string no_option(const CLI::App& command, const std::string& word) {
  const std::string typed = word.substr(0, word.find('='));
  Words names;
  // Options of the commands above may follow too.
  for (const CLI::App* one = &command; one != nullptr; one = one->get_parent()) {
    for (const CLI::Option* option : one->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back(name);
    }
  }
  const auto near =
      nearest_name(std::string_view(typed).substr(typed.find_first_not_of('-')), names);
  return "there is no option " + typed + (near ? "; do you mean --" + *near + "?" : "");
}

// "Could not convert: --mtu = abc"
std::string no_number(const CLI::App& command, const std::string& problem) {
  const std::size_t name = problem.find("--");
  const std::size_t equals = problem.find(" = ");
  if (name == std::string::npos || equals == std::string::npos || equals < name) return problem;
  const std::string option = problem.substr(name, equals - name);
  const CLI::Option* known = command.get_option_no_throw(option);
  return fmt::format("{} {}: must be a whole number{}", option, problem.substr(equals + 3),
                     known == nullptr ? "" : fmt::format("\n  {}", known->get_description()));
}

// For an argument that is not expected, how it is right; empty: nothing is known of it.
std::string remedy(const CLI::App& command, const Words& words, const std::string& word) {
  if (path_of(command) == "paravane cluster join") {
    return "A token is a secret: pass it on standard input or with --token-file.";
  }
  if (path_of(command) == "paravane infiniband run") {
    return "Write -- before the program, as in: paravane infiniband run -- ibstat -l";
  }
  const auto at = std::ranges::find(words, word);
  if (at == words.begin() || at == words.end() || !std::prev(at)->starts_with("--")) return {};
  const CLI::Option* option = command.get_option_no_throw(*std::prev(at));
  // Of a flag that may have a value CLI11 shows the one that it has without.
  if (option == nullptr || !option->get_name(false, true).contains('{')) return {};
  return "To give a value, write " + *std::prev(at) + "=" + word + ", without a space.";
}

struct Complaint {
  std::string problem;
  std::string remedy;
  std::string command;  // whose help to read
};

// What is wrong with the command line, by the name of the command it is wrong for.
Complaint explain(const CLI::App& app, const CLI::Error& error, const Words& words) {
  const CLI::App* command = &deepest_command(app);
  std::string problem = error.what();
  std::string advice;
  const Words unknown = app.remaining(true);
  const std::string word = unknown.empty() ? "" : unknown.front();
  const bool is_option = looks_like_option(word);
  // CLI11 misses the command first, and does not name what stands in its place.
  if (error.get_name() == "RequiredError" && command->get_require_subcommand_min() > 0) {
    problem = "a command is missing";
    if (is_option) problem = no_option(*command, word);
  }
  const CLI::App& before = command_before(app, words, word);
  const bool names_no_command =
      !word.empty() && !is_option && before.get_require_subcommand_min() > 0;
  if (names_no_command) {
    command = &before;
    problem = no_command(before, word);
  }
  if (error.get_name() == "ConversionError") problem = no_number(*command, problem);
  problem = in_our_words(error.get_name(), problem);
  // Its name is the program's.
  if (!names_no_command && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    problem = is_option ? no_option(*command, word) : "there is no argument " + word + " here";
    advice = remedy(*command, words, word);
  }
  return {.problem = problem, .remedy = advice, .command = path_of(*command)};
}

// What the parser prints for it.
std::string complain(const CLI::App& app, const CLI::Error& error, const Words& words,
                     bool as_json) {
  const Complaint complaint = explain(app, error, words);
  const std::string see = "See: " + complaint.command + " --help";
  const std::string remedy = complaint.remedy.empty() ? see : complaint.remedy + "\n  " + see;
  if (!as_json) return app.get_name() + ": " + complaint.problem + "\n  " + remedy + "\n";
  report_usage(complaint.problem, remedy);
  return {};
}

// Known before the options are read, for one of them may be wrong.
bool wants_json(const Words& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == "--json" || words[i] == "--formatter=json") return true;
    if (words[i] == "--formatter" && i + 1 < words.size() && words[i + 1] == "json") return true;
  }
  return false;
}

void add_all_commands(CLI::App& app, Run& run) {
  app.footer(
      "Examples:\n"
      "  paravane vm add db1\n"
      "  paravane stats --vm db1 --watch\n"
      "  paravane rdma device list\n"
      "Exit status: 0 success, 1 failure, 2 invalid command line, 3 no response from\n"
      "the daemon, 4 refused because VMs are attached. See also paravane(1).");
  add_vm_commands(app, run);
  add_vds_commands(app, run);
  add_portgroup_commands(app, run);
  add_infiniband_commands(app, run);
  add_impair_commands(app, run);
  add_sniff_command(app, run);
  add_status_command(app, run);
  add_stats_command(app, run);
  add_metrics_command(app, run);
  add_path_commands(app, run);
  add_events_command(app, run);
  add_cluster_commands(app, run);
  add_esxcli_commands(app, run);
  add_daemon_commands(app, run);
  add_completion_command(app, run);
  add_help_commands(app, run);
}

bool is_esxcfg_module(std::string_view program) {
  return program == kEsxcfgModule || program == kVicfgModule;
}

// The options of a module may begin with "--" (guide, 4.4.2.3): they stay one with the "-s" before.
Words with_joined_options(std::string_view program, Words words) {
  if (!is_esxcfg_module(program)) return words;
  for (auto at = words.begin(); at != words.end() && std::next(at) != words.end(); ++at) {
    if (*at != "-s" && *at != "--set-options") continue;
    if (!std::next(at)->starts_with('-')) continue;
    *at = "--set-options=" + *std::next(at);
    words.erase(std::next(at));
  }
  return words;
}

// Those of the name that the program was called as.
void add_commands(CLI::App& app, Run& run) {
  if (app.get_name() == kEsxcfgNics) return add_esxcfg_nics(app, run);
  if (app.get_name() == kEsxcfgVmknic) return add_esxcfg_vmknic(app, run);
  if (is_esxcfg_module(app.get_name())) return add_esxcfg_module(app, run);
  if (app.get_name() == kVmkloadMod) return add_vmkload_mod(app, run);
  if (app.get_name() == kEsxcfgAdvcfg) return add_esxcfg_advcfg(app, run);
  if (app.get_name() == kConnectxPortConfig) return add_connectx_port_config(app, run);
  if (app.get_name() == kMgmtMlx) return add_mgmt_mlx(app, run);
  if (app.get_name() == kEsxcfgMpath) return add_esxcfg_mpath(app, run);
  if (app.get_name() == kEsxcfgRescan) return add_esxcfg_rescan(app, run);
  if (app.get_name() == kEsxcfgScsidevs) return add_esxcfg_scsidevs(app, run);
  if (app.get_name() == kIbstat) return add_ibstat(app, run);
  app.require_subcommand(1);
  if (app.get_name() != kEsxcli) return add_all_commands(app, run);
  app.description(
      "The esxcli commands for RDMA and its storage on this host. All other commands are in "
      "paravane.");
  app.footer("Examples:\n  esxcli rdma device list\nSee also paravane(1).");
  add_esxcli_commands(app, run);
  add_help_commands(app, run);
}

// "paravane vm" and nothing after it.
bool lacks_command(const CLI::App& app, const CLI::Error& error) {
  return error.get_name() == "RequiredError" && app.remaining(true).empty() &&
         deepest_command(app).get_require_subcommand_min() > 0;
}

}  // namespace

ExitStatus run_command_line(std::span<const char* const> arguments, std::string_view program) {
  CLI::App app("RDMA adapters (PVRDMA) for the VMs of this host.", std::string(program));
  Context context;
  Run run;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread
  const char* socket = std::getenv("PARAVANE_SOCKET");
  if (socket != nullptr && *socket != '\0') context.socket = socket;
  Words given = with_joined_options(program, Words(arguments.begin(), arguments.end()));
  if (program == kIbstat) {
    if (!is_ibstat_vmhba(given)) return run_other_ibstat(std::move(given), context);
    given = without_ibstat_vmhba(std::move(given));
  }
  add_shared_options(app, context);
  app.fallthrough();  // --formatter and --socket may also follow the command
  const bool as_json = wants_json(given);
  report_as_json(as_json);
  app.failure_message([&given, as_json](const CLI::App* failed, const CLI::Error& error) {
    return complain(*failed, error, given, as_json);
  });
  add_commands(app, run);
  try {
    // CLI11 takes them last word first.
    Words words(given.rbegin(), given.rend());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (lacks_command(app, error)) {
      fmt::print("{}", app.help());
      return ExitStatus::kUsage;
    }
    return app.exit(error) == 0 ? ExitStatus::kOk : ExitStatus::kUsage;
  }
  return run(context);
}

}  // namespace paravane::cli
