// Where a daemon answers, for one who has asked at another place: a demo or a lab has its own.
//
// Blocks for a connection to each socket found. Any thread.

#pragma once

#include <string>
#include <vector>

namespace paravane::cli {

// Sockets named api.sock at which somebody listens, in the folders of `run` whose names begin
// with "paravane", and a few levels below.
std::vector<std::string> answering_sockets(const std::string& run = "/run");

}  // namespace paravane::cli
