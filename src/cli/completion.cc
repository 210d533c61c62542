// Completion scripts for shells, made from the commands and options that the parser knows, so
// that they cannot fall behind.

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "cli/bash_completion.h"
#include "cli/commands.h"
#include "cli/fish_completion.h"

namespace paravane::cli {
namespace {

std::string completion_script(const CLI::App& root, std::string_view shell) {
  const std::vector<CompletionNode> nodes = completion_nodes(root);
  if (shell == "bash") return bash_completion(nodes);
  if (shell == "zsh") {
    return "#compdef paravane\nautoload -U +X bashcompinit && bashcompinit\n" +
           bash_completion(nodes);
  }
  return fish_completion(nodes);
}

}  // namespace

void add_completion_command(CLI::App& root, Run& run) {
  CLI::App* completion = root.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion->footer(
      "Examples:\n"
      "  source <(paravane completion bash)\n"
      "  paravane completion fish > ~/.config/fish/completions/paravane.fish");
  completion->callback([shell, &root, &run] {
    run = [shell, &root](const Context&) {
      fmt::print("{}", completion_script(root, *shell));
      return ExitStatus::kOk;
    };
  });
}

}  // namespace paravane::cli
