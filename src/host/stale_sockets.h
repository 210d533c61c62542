// Removes the sockets that a killed daemon left in the directory of the VMs' sockets.

#pragma once

#include <cstddef>
#include <filesystem>

namespace paravane::host {

// Removes each NAME.sock without a listener and says so in the log: one of a VM that is no
// more would keep its name from being used again, since the engine may soon connect to
// nothing that would tell whether a process has the socket. Sockets with a listener and
// other files stay. Returns how many went.
//
// REQUIRES: the directory's lock is held, and none of this daemon's sockets is there yet.
std::size_t remove_stale_sockets(const std::filesystem::path& directory);

}  // namespace paravane::host
