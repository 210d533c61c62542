#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/commands.h"

namespace paravane::cli {
namespace {

const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

// The names of a list of the daemon's, and nothing that is no name: a shell expands what it is to
// complete from, commands in it included, and the daemon may have been broken into.
std::string names_of(std::string_view list) {
  return fmt::format(
      "paravane --formatter=csv {} list 2>/dev/null | "
      R"(sed -En "1d;s/^([a-z0-9][a-z0-9_.-]*),.*/\1/p" | uniq)",
      list);
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletionNode>& nodes) {
  CompletionNode node{.path = path, .subcommands = {}, .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) node.options.push_back("--" + name);
    // Some want a new name.
    const bool known = path != "vm add" && path != "vds create" && path != "portgroup create";
    if (option->get_positional() && known) {
      const std::string word = option->get_name(true);
      if (word == "NAME") node.lists = "vm";
      if (word == "SWITCH") node.lists = "vds";
      if (word == "GROUP") node.lists = "portgroup";
    }
    if (option->get_positional() && option->get_name(true) == "SHELL") {
      node.subcommands.assign(kShells.begin(), kShells.end());
    }
  }
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : subcommands) node.subcommands.push_back(sub->get_name());
  nodes.push_back(std::move(node));
  for (const CLI::App* sub : subcommands) {
    collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), nodes);
  }
}

// Shared by bash and zsh (through bashcompinit): finds the command on the line
// and offers what may follow it.
std::string bash_script(const std::vector<CompletionNode>& nodes) {
  std::string cases;
  for (const CompletionNode& node : nodes) {
    cases += fmt::format("    \"{}\") words=\"{}\"; lists=\"{}\" ;;\n", node.path,
                         fmt::join(node.subcommands, " "), node.lists);
  }
  std::string options;
  for (const CompletionNode& node : nodes) {
    options +=
        fmt::format("      \"{}\") words=\"{}\" ;;\n", node.path, fmt::join(node.options, " "));
  }
  std::string commands;
  for (const CompletionNode& node : nodes) {
    if (!node.path.empty()) commands += fmt::format("      \"{}\") path=$try ;;\n", node.path);
  }
  return "_paravane() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local path= try= words= lists= i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    try=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case $try in\n" +
         commands +
         "    esac\n"
         "  done\n"
         "  case $prev in\n"
         "    --formatter) COMPREPLY=($(compgen -W \"table json csv\" -- \"$cur\")); return ;;\n"
         "    --doorbells) COMPREPLY=($(compgen -W \"mapped trapped\" -- \"$cur\")); return ;;\n"
         "    --protocol) COMPREPLY=($(compgen -W \"v1 v2\" -- \"$cur\")); return ;;\n"
         "    --socket) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
         "    --vm) path=\"vm remove\" ;;\n"
         "    --vds) path=\"vds delete\" ;;\n"
         "    --port-group) path=\"portgroup delete\" ;;\n"
         "  esac\n"
         "  case $path in\n" +
         cases +
         "  esac\n"
         "  if [[ $cur == -* ]]; then\n"
         "    case $path in\n" +
         options +
         "    esac\n"
         "  elif [[ $lists ]]; then\n"
         "    words=\"$words $(" +
         names_of("$lists") +
         ")\"\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -F _paravane paravane\n";
}

std::string fish_script(const std::vector<CompletionNode>& nodes) {
  std::string script = "complete -c paravane -f\n";
  for (const CompletionNode& node : nodes) {
    std::string condition = "not __fish_seen_subcommand_from";
    if (node.path.empty()) {
      for (const std::string& sub : node.subcommands) condition += " " + sub;
    } else {
      condition.clear();
      for (std::size_t at = 0; at < node.path.size();) {
        const std::size_t end = std::min(node.path.find(' ', at), node.path.size());
        condition += fmt::format("{}__fish_seen_subcommand_from {}",
                                 condition.empty() ? "" : "; and ", node.path.substr(at, end - at));
        at = end + 1;
      }
    }
    const std::string line = fmt::format("complete -c paravane -n '{}'", condition);
    for (const std::string& sub : node.subcommands) script += fmt::format("{} -a {}\n", line, sub);
    for (const std::string& option : node.options) {
      script += fmt::format("{} -l {}\n", line, option.substr(2));
    }
    if (!node.lists.empty()) {
      script += fmt::format("{} -a '({})'\n", line, names_of(node.lists));
    }
  }
  return script;
}

}  // namespace

std::vector<CompletionNode> completion_nodes(const CLI::App& root) {
  std::vector<CompletionNode> nodes;
  collect(root, "", nodes);
  return nodes;
}

std::string completion_script(const CLI::App& root, std::string_view shell) {
  const std::vector<CompletionNode> nodes = completion_nodes(root);
  if (shell == "bash") return bash_script(nodes);
  if (shell == "zsh") {
    return "#compdef paravane\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(nodes);
  }
  if (shell == "fish") return fish_script(nodes);
  return {};
}

void add_completion_command(CLI::App& root, Run& run) {
  CLI::App* completion = root.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(kShells).description(""));
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
