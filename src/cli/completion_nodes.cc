#include "cli/completion_nodes.h"

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

}  // namespace

std::vector<CompletionNode> completion_nodes(const CLI::App& root) {
  std::vector<CompletionNode> nodes;
  collect(root, "", nodes);
  return nodes;
}

}  // namespace paravane::cli
