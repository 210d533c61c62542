// HelpFormatter: formats the output of --help. It shows the values of an option by the name that
// the option gives them and adds its default, without the type names that the parser (CLI11)
// prints.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace paravane::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();

  std::string make_option_opts(const CLI::Option* option) const override;
  // Formats a group of options that exclude one another.
  std::string make_expanded(const CLI::App* group) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace paravane::cli
