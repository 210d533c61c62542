// The sockets where a daemon answers, for a command that found none at its own: a demo or a lab
// has another.
//
// Blocks for a connection to each socket found. Any thread.

#pragma once

#include <string>
#include <vector>

namespace paravane::cli {

// Sockets named api.sock that have a listener, in the folders of `run` whose names begin
// with "paravane", and a few levels below.
std::vector<std::string> answering_sockets(const std::string& run = "/run");

}  // namespace paravane::cli
