// paravane help, version.

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "cli/commands.h"
#include "cli/version.h"

namespace paravane::cli {
namespace {

std::vector<CLI::App*> commands_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
}

ExitStatus run_help(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* command = &root;
  std::string path = root.get_name();  // of `command`, in full
  for (const std::string& word : words) {
    CLI::App* next = nullptr;
    std::vector<std::string> names;
    for (CLI::App* one : commands_of(*command)) {
      names.push_back(one->get_name());
      if (one->get_name() == word) next = one;
    }
    if (next == nullptr) {
      return report_failure(fmt::format("there is no command {}", word),
                            do_you_mean(word, names) + "See: " + path + " --help");
    }
    command = next;
    path += " " + word;
  }
  // App::help() would show that of the command which was called, "help".
  const std::string text =
      command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal);
  fmt::print("{}", text);
  return ExitStatus::kOk;
}

}  // namespace

void add_help_commands(CLI::App& root, Run& run) {
  CLI::App* help = root.add_subcommand("help", "Show the help of a command");
  auto words = std::make_shared<std::vector<std::string>>();
  help->add_option("COMMAND", *words, "Words of the command (default: help for all commands)");
  const std::string name = root.get_name();
  const std::string example = name == kEsxcli ? "rdma device list" : "vm add";
  help->footer(fmt::format("Examples:\n  {0} help\n  {0} help {1}", name, example));
  help->callback([words, &root, &run] {
    run = [words, &root](const Context&) { return run_help(root, *words); };
  });
  CLI::App* version = root.add_subcommand("version", "Show the version");
  version->footer(fmt::format("Examples:\n  {} version", name));
  version->callback([&run] {
    run = [](const Context&) {
      fmt::print("paravane {}\n", kVersion);
      return ExitStatus::kOk;
    };
  });
}

}  // namespace paravane::cli
