// Generates the completion script for the fish shell.

#pragma once

#include <string>
#include <vector>

#include "cli/completion_nodes.h"

namespace paravane::cli {

std::string fish_completion(const std::vector<CompletionNode>& nodes);

}  // namespace paravane::cli
