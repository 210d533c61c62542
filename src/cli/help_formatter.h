// HelpFormatter: formats the output of --help. For each option it shows the name of the value, the
// description and the default, without the type names and markers that the parser (CLI11) would
// add.

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
  // In the line of usage, of an argument: "[NIC...]".
  std::string make_option_usage(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace paravane::cli
