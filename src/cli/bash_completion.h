// The completion script for bash, which zsh takes as well, through bashcompinit.

#pragma once

#include <string>
#include <vector>

#include "cli/completion_nodes.h"

namespace paravane::cli {

std::string bash_completion(const std::vector<CompletionNode>& nodes);

}  // namespace paravane::cli
