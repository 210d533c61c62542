#include "cli/left_out.h"

#include <fmt/core.h>

#include <cstdio>

#include "text/text_cell.h"

namespace paravane::cli {

void tell_left_out(const std::vector<model::LeftOut>& left_out) {
  for (const model::LeftOut& one : left_out) {
    fmt::print(stderr, "paravane: {} is unusable: {}\n  {}\n", text::printable(name_of(one)),
               text::printable(one.reason), text::printable(one.remedy));
  }
}

}  // namespace paravane::cli
