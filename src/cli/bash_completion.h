// Generates the completion script for bash. zsh can use the same script through its bashcompinit.

#pragma once

#include <string>
#include <vector>

#include "cli/completion_nodes.h"

namespace paravane::cli {

std::string bash_completion(const std::vector<CompletionNode>& nodes);

}  // namespace paravane::cli
