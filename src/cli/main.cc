// paravane: the command line of paravaned. paravane(1) is its manual.

#include <algorithm>
#include <cstddef>
#include <span>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  return static_cast<int>(
      paravane::cli::run_command_line(arguments.subspan(std::min<std::size_t>(1, arguments.size())),
                                      paravane::cli::program_name()));
}
