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
  if (type == "INT" || type == "UINT" || type == "FLOAT") type = "NUMBER";
  return type.empty() ? std::string() : " " + type;
}

std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  const std::string name =
      make_option_name(option, true) + (option->get_expected_max() > 1 ? "..." : "");
  return option->get_required() ? name : "[" + name + "]";
}

std::string HelpFormatter::make_expanded(const CLI::App* group) const {
  const bool one = group->get_require_option_min() == 1 && group->get_require_option_max() == 1;
  const auto is_its_own = [group](const CLI::Option* option) {
    return option != group->get_help_ptr();
  };
  return make_group(group->get_description() + (one ? ", one of" : ""), false,
                    group->get_options(is_its_own));
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
  if (option->get_required() && !option->get_positional()) text += " (required)";
  return text;
}

}  // namespace paravane::cli
