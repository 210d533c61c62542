#include "cli/fish_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace paravane::cli {
namespace {

// What follows -a. The VM of an adapter stands behind the command.
std::string fish_values(const Values& values, std::size_t words_of_path) {
  std::string words = fmt::format("{}", fmt::join(values.words, " "));
  switch (values.kind) {
    case ValueKind::kUnknown: return {};
    case ValueKind::kWords: return fmt::format(" -a '{}'", words);
    case ValueKind::kListed:
      return fmt::format(" -a '{}({})'", words.empty() ? "" : words + " ", list_command(values));
    case ValueKind::kAdapter:
      return fmt::format(
          " -a '(paravane --formatter=csv vm list 2>/dev/null | "
          R"(string replace -rf "^"(commandline -opc)[{}]",[^,]*,([0-9]+),.*" "\$1")')",
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

}  // namespace

std::string fish_completion(const std::vector<CompletionNode>& nodes) {
  std::string script = "complete -c paravane -f\n";
  for (const CompletionNode& node : nodes) script += fish_lines(node);
  return script;
}

}  // namespace paravane::cli
