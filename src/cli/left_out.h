// tell_left_out(): reports which stored objects the daemon could not load because they are damaged.
// These objects are missing from the output of the command, so each is reported on stderr with the
// reason and the remedy.

#pragma once

#include <vector>

#include "model/left_out.h"

namespace paravane::cli {

void tell_left_out(const std::vector<model::LeftOut>& left_out);

}  // namespace paravane::cli
