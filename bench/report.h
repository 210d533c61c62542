// How figures are shown: a table for people, JSON for programs.

#pragma once

#include <string>

#include "bench/question.h"

namespace paravane::bench {

void print_table(const Figures& figures);

// False: the file cannot be written.
bool write_json(const Figures& figures, const Settings& settings, const std::string& path);

}  // namespace paravane::bench
