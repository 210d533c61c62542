#include "cli/help_formatter.h"

namespace paravane::cli {

HelpFormatter::HelpFormatter() {
  label("Positionals", "Arguments");
  label("Subcommands", "Commands");
  label("OPTIONS", "options");
  label("SUBCOMMAND", "command");
}

// An argument's name says it all; of an option, what follows it.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_positional() || option->get_type_size() == 0) return {};
  std::string type = option->get_type_name();
  if (type == "TEXT") type = "WORD";
  if (type == "INT" || type == "UINT" || type == "FLOAT") type = "NUMBER";
  return type.empty() ? std::string() : " " + type;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const bool must = option->get_required() && !option->get_positional();
  return option->get_description() + (must ? " (required)" : "");
}

}  // namespace paravane::cli
