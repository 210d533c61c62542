// Removes old socket files of VMs. Such files remain when a daemon is killed.

#pragma once

#include <cstddef>
#include <filesystem>

namespace paravane::host {

// Removes each NAME.sock and NAME.lun without a listener and logs it. Otherwise the name of a
// removed VM could not be used again, because the engine will soon be unable to connect to a socket
// to find out whether a process listens there. Sockets with a listener and other files stay.
// Returns the number of removed files. REQUIRES: the directory's lock is held, and this daemon has
// not created a socket there yet.
std::size_t remove_stale_sockets(const std::filesystem::path& directory);

}  // namespace paravane::host
