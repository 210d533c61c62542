// Finds other daemons on this host. A command that cannot reach the daemon at its own socket
// suggests the sockets of these daemons to the user. An example is the socket of a demo.
//
// Blocks while it connects to each socket that it finds. Any thread.

#pragma once

#include <string>
#include <vector>

namespace paravane::cli {

// Returns the paths of sockets named api.sock on which a process listens. It searches the folders
// of `run` whose names begin with "paravane", and a few levels below them.
std::vector<std::string> answering_sockets(const std::string& run = "/run");

}  // namespace paravane::cli
