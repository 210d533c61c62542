// look_at_socket(): determines what is at the path of a UNIX socket. A process that was killed
// leaves its socket file behind, and such a file can be removed safely. The socket of a running
// process must never be removed. This matters to a process that needs the path for its own socket,
// and to a process that cleans up a directory.
//
// Any thread.

#pragma once

#include <cstdint>
#include <filesystem>

namespace paravane {

enum class SocketUse : std::uint8_t {
  kNothing,    // there is no file
  kOther,      // a file that is not a socket
  kStale,      // a socket without a listener
  kListening,  // a process listens on the socket
  kUnknown,    // could not be found out
};

struct SocketLook {
  SocketUse use = SocketUse::kNothing;
  int error = 0;  // errno for kUnknown; EPERM in the sandboxed process
};

// Connects to the socket to find out, and disconnects at once. A path that is too long for a socket
// is kUnknown with ENAMETOOLONG.
SocketLook look_at_socket(const std::filesystem::path& path);

}  // namespace paravane
