#include "cli/bash_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

namespace paravane::cli {
namespace {

// Finds the command on the line and how many arguments it has already, and offers what may
// follow. "--vm=db" is three words; a number follows the name of a limit ("queue_pairs=").
constexpr std::string_view kScript = R"(_paravane_adapters() {
  paravane --formatter=csv vm list 2>/dev/null | awk -F, -v vm="$1" '$1 == vm && $3 ~ /^[0-9]+$/ { print $3 }'
}
_paravane() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local path= try= words= first= last= place=0 i
  COMPREPLY=()
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]} last='='
  [[ $cur == '=' ]] && cur= last='='
  [[ $last && $prev != -* ]] && return 0
  for ((i = 1; i < COMP_CWORD; i++)); do
    try="${path:+$path }${COMP_WORDS[i]}" last=${COMP_WORDS[i-1]}
    case $try in
      @commands@) path=$try; place=0; continue ;;
    esac
    case ${COMP_WORDS[i]} in -*|'=') continue ;; esac
    case "$path:$last" in
      @flags@) ;;
      *:-*|*:=) continue ;;
    esac
    [[ $place == 0 ]] && first=${COMP_WORDS[i]}
    place=$((place + 1))
  done
  case "$path:$prev" in
    @flags@) prev= ;;
@values@    *) prev= ;;
  esac
  if [[ $prev ]]; then
    :
  elif [[ $cur == -* ]]; then
    case $path in
@options@    esac
  else
    case $path in
@subcommands@    esac
    case "$path:$place" in
@arguments@    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _paravane paravane
)";

// What fills the script's places of the same names: patterns, or cases of a shell.
struct Cases {
  std::string commands;     // of the words so far: the path grows
  std::string flags;        // options that no value follows
  std::string values;       // of an option, by "path:option"
  std::string options;      // by path
  std::string subcommands;  // by path
  std::string arguments;    // by "path:place"
};

// What sets `words`, or answers by itself.
std::string offered(const Values& values) {
  std::string words = fmt::format("{}", fmt::join(values.words, " "));
  switch (values.kind) {
    case ValueKind::kUnknown: return "words=";
    case ValueKind::kWords: return fmt::format("words=\"{}\"", words);
    case ValueKind::kListed:
      return fmt::format("words=\"{}$({})\"", words.empty() ? "" : words + " ",
                         list_command(values));
    case ValueKind::kAdapter: return "words=\"$(_paravane_adapters \"$first\")\"";
    // Not by way of `words`, in which the shell would expand what a file is called.
    case ValueKind::kFile: return "COMPREPLY=($(compgen -f -- \"$cur\")); return 0";
  }
  return {};
}

void add_pattern(std::string& patterns, const std::string& one) {
  patterns += (patterns.empty() ? "" : "|") + one;
}

void add_option(const CompletionNode& node, const CompletionOption& option, Cases& cases) {
  for (const std::string& name : option.names) {
    // Options of the program itself may follow every command.
    const std::string place =
        node.path.empty() ? "*:" + name : fmt::format("\"{}:{}\"", node.path, name);
    if (option.has_value) {
      cases.values += fmt::format("    {}) {} ;;\n", place, offered(option.values));
    } else {
      add_pattern(cases.flags, place);
    }
  }
}

void add_node(const CompletionNode& node, Cases& cases) {
  if (!node.path.empty()) add_pattern(cases.commands, '"' + node.path + '"');
  std::vector<std::string> long_names;
  for (const CompletionOption& option : node.options) {
    add_option(node, option, cases);
    for (const std::string& name : option.names) {
      if (name.starts_with("--")) long_names.push_back(name);
    }
  }
  const auto words_of = [&node](const std::vector<std::string>& words) {
    return fmt::format("      \"{}\") words=\"{}\" ;;\n", node.path, fmt::join(words, " "));
  };
  cases.options += words_of(long_names);
  cases.subcommands += words_of(node.subcommands);
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    cases.arguments +=
        fmt::format("      \"{}:{}\") {} ;;\n", node.path, i, offered(node.arguments[i]));
  }
}

void fill(std::string& script, std::string_view place, const std::string& text) {
  for (std::size_t at = 0; (at = script.find(place, at)) != std::string::npos; at += text.size()) {
    script.replace(at, place.size(), text);
  }
}

}  // namespace

std::string bash_completion(const std::vector<CompletionNode>& nodes) {
  Cases cases;
  for (const CompletionNode& node : nodes) add_node(node, cases);
  std::string script(kScript);
  fill(script, "@commands@", cases.commands);
  fill(script, "@flags@", cases.flags);
  fill(script, "@values@", cases.values);
  fill(script, "@options@", cases.options);
  fill(script, "@subcommands@", cases.subcommands);
  fill(script, "@arguments@", cases.arguments);
  return script;
}

}  // namespace paravane::cli
