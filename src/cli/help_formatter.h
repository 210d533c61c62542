// How --help looks: what is written in a command's place, and what it means, without the
// parser's own types and marks.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace paravane::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();

  std::string make_option_opts(const CLI::Option* option) const override;
  // A group of options that exclude one another.
  std::string make_expanded(const CLI::App* group) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace paravane::cli
