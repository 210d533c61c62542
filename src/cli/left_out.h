// What the daemon keeps and cannot use, told on stderr beside any answer, in which it is missing.

#pragma once

#include <vector>

#include "model/left_out.h"

namespace paravane::cli {

void tell_left_out(const std::vector<model::LeftOut>& left_out);

}  // namespace paravane::cli
