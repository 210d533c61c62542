#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"

namespace paravane::cli {
namespace {

// Those of a group of options are the command's as well.
void collect_options(const CLI::App& app, CompletionNode& node) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      node.arguments.push_back(values_of(node.path, *option));
      continue;
    }
    CompletionOption& one = node.options.emplace_back();
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    one.has_value = option->get_items_expected_min() > 0;
    if (one.has_value) one.values = values_of(node.path, *option);
  }
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletionNode>& nodes) {
  CompletionNode node{.path = path, .subcommands = {}, .options = {}, .arguments = {}};
  collect_options(app, node);
  std::vector<const CLI::App*> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name().empty()) {
      collect_options(*sub, node);
    } else {
      commands.push_back(sub);
      node.subcommands.push_back(sub->get_name());
    }
  }
  nodes.push_back(std::move(node));
  for (const CLI::App* sub : commands) {
    collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), nodes);
  }
}

// The names of a list of the daemon's, and nothing that is no name: a shell expands what it is to
// complete from, commands in it included, and the daemon may have been broken into.
std::string list_command(const std::string& list) {
  return fmt::format(
      "paravane --formatter=csv {} 2>/dev/null | "
      R"(sed -En "1d;s/^([A-Za-z0-9][A-Za-z0-9_.-]*),.*/\1/p" | uniq)",
      list);
}

// What sets `words`, or answers by itself.
std::string bash_values(const Values& values) {
  std::string words = fmt::format("{}", fmt::join(values.words, " "));
  switch (values.kind) {
    case ValueKind::kUnknown: return "words=";
    case ValueKind::kWords: return fmt::format("words=\"{}\"", words);
    case ValueKind::kListed:
      return fmt::format("words=\"{}$({})\"", words.empty() ? "" : words + " ",
                         list_command(values.list));
    case ValueKind::kAdapter: return "words=\"$(_paravane_adapters \"$first\")\"";
    // Not by way of `words`, in which the shell would expand what a file is called.
    case ValueKind::kFile: return "COMPREPLY=($(compgen -f -- \"$cur\")); return 0";
  }
  return {};
}

// The commands, and what is to be told of each, as cases of a shell.
struct BashCases {
  std::string commands;   // of the words so far: the path grows
  std::string flags;      // options that no value follows
  std::string values;     // of an option, by "path:option"
  std::string arguments;  // by "path:place"
  std::string words;      // commands, by path
  std::string options;    // by path
};

BashCases bash_cases(const std::vector<CompletionNode>& nodes) {
  BashCases cases;
  for (const CompletionNode& node : nodes) {
    if (!node.path.empty()) {
      cases.commands += fmt::format("{}\"{}\"", cases.commands.empty() ? "" : "|", node.path);
    }
    cases.words +=
        fmt::format("      \"{}\") words=\"{}\" ;;\n", node.path, fmt::join(node.subcommands, " "));
    std::vector<std::string> names;
    for (const CompletionOption& option : node.options) {
      for (const std::string& name : option.names) {
        if (name.starts_with("--")) names.push_back(name);
        // Options of the program itself may follow every command.
        const std::string place =
            node.path.empty() ? "*:" + name : fmt::format("\"{}:{}\"", node.path, name);
        if (option.has_value) {
          cases.values += fmt::format("    {}) {} ;;\n", place, bash_values(option.values));
        } else {
          cases.flags += fmt::format("{}{}", cases.flags.empty() ? "" : "|", place);
        }
      }
    }
    cases.options +=
        fmt::format("      \"{}\") words=\"{}\" ;;\n", node.path, fmt::join(names, " "));
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      cases.arguments +=
          fmt::format("      \"{}:{}\") {} ;;\n", node.path, i, bash_values(node.arguments[i]));
    }
  }
  return cases;
}

// Shared by bash and zsh (through bashcompinit): finds the command on the line and how many
// arguments it has already, and offers what may follow.
std::string bash_script(const std::vector<CompletionNode>& nodes) {
  const BashCases cases = bash_cases(nodes);
  return "_paravane_adapters() {\n"
         "  paravane --formatter=csv vm list 2>/dev/null | awk -F, -v vm=\"$1\" '$1 == vm && $3 ~ "
         "/^[0-9]+$/ { print "
         "$3 }'\n"
         "}\n"
         "_paravane() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local path= try= words= first= last= place=0 i\n"
         // "--vm=db" is three words.
         "  COMPREPLY=()\n"
         "  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]} last='='\n"
         "  [[ $cur == '=' ]] && cur= last='='\n"
         "  [[ $last && $prev != -* ]] && return 0\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    try=\"${path:+$path }${COMP_WORDS[i]}\" last=${COMP_WORDS[i-1]}\n"
         "    case $try in\n"
         "      " +
         cases.commands +
         ") path=$try; place=0; continue ;;\n"
         "    esac\n"
         "    case ${COMP_WORDS[i]} in -*|'=') continue ;; esac\n"
         "    case \"$path:$last\" in\n"
         "      " +
         cases.flags +
         ") ;;\n"
         "      *:-*|*:=) continue ;;\n"
         "    esac\n"
         "    [[ $place == 0 ]] && first=${COMP_WORDS[i]}\n"
         "    place=$((place + 1))\n"
         "  done\n"
         "  case \"$path:$prev\" in\n"
         "    " +
         cases.flags + ") prev= ;;\n" + cases.values +
         "    *) prev= ;;\n"
         "  esac\n"
         "  if [[ $prev ]]; then\n"
         "    :\n"
         "  elif [[ $cur == -* ]]; then\n"
         "    case $path in\n" +
         cases.options +
         "    esac\n"
         "  else\n"
         "    case $path in\n" +
         cases.words +
         "    esac\n"
         "    case \"$path:$place\" in\n" +
         cases.arguments +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         // A number follows the name of a limit.
         "  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
         "  return 0\n"
         "}\n"
         "complete -F _paravane paravane\n";
}

// What follows -a. The VM of an adapter stands behind the command.
std::string fish_values(const Values& values, std::size_t words_of_path) {
  std::string words = fmt::format("{}", fmt::join(values.words, " "));
  switch (values.kind) {
    case ValueKind::kUnknown: return {};
    case ValueKind::kWords: return fmt::format(" -a '{}'", words);
    case ValueKind::kListed:
      return fmt::format(" -a '{}({})'", words.empty() ? "" : words + " ",
                         list_command(values.list));
    case ValueKind::kAdapter:
      return fmt::format(
          " -a '(paravane --formatter=csv vm list 2>/dev/null | string replace -rf "
          "\"^\"(commandline "
          "-opc)[{}]\",[^,]*,([0-9]+),.*\" \"\\$1\")'",
          words_of_path + 2);
    case ValueKind::kFile: return " -F";
  }
  return {};
}

std::vector<std::string> words_in(const std::string& path) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(' ', at), path.size());
    words.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string fish_lines(const CompletionNode& node) {
  const std::vector<std::string> path = words_in(node.path);
  std::string condition;
  for (const std::string& word : path) {
    condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
  }
  if (path.empty()) {
    condition = fmt::format("not __fish_seen_subcommand_from {}", fmt::join(node.subcommands, " "));
  }
  const std::string line = fmt::format("complete -c paravane -n '{}'", condition);
  std::string text;
  for (const std::string& sub : node.subcommands) text += fmt::format("{} -a {}\n", line, sub);
  for (const CompletionOption& option : node.options) {
    std::string names;
    for (const std::string& name : option.names) {
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    // Options of the program itself may follow every command.
    if (option.has_value) names += option.values.kind == ValueKind::kFile ? " -r" : " -x";
    text += fmt::format("{}{}{}\n", path.empty() ? "complete -c paravane" : line, names,
                        fish_values(option.values, path.size()));
  }
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const std::string offered = fish_values(node.arguments[i], path.size());
    if (offered.empty()) continue;
    text += fmt::format(
        "complete -c paravane -n '{}; and test (count (commandline -opc | string match -v -- "
        "\"-*\")) = {}'{}\n",
        condition, path.size() + 1 + i, offered);
  }
  return text;
}

std::string fish_script(const std::vector<CompletionNode>& nodes) {
  std::string script = "complete -c paravane -f\n";
  for (const CompletionNode& node : nodes) script += fish_lines(node);
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
