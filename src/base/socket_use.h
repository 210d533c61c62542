// SocketUse: what is found at the path of a UNIX socket. A killed process leaves its socket file
// behind; code that wants the path, or cleans up a directory, must not remove the socket of a
// running process.
//
// Any thread.

#pragma once

#include <cstdint>
#include <filesystem>

namespace paravane {

enum class SocketUse : std::uint8_t {
  kNothing,    // there is no file
  kOther,      // a file that is no socket
  kStale,      // a socket without a listener
  kListening,  // a process listens
  kUnknown,    // could not be asked
};

struct SocketLook {
  SocketUse use = SocketUse::kNothing;
  int error = 0;  // of kUnknown: errno; EPERM under the engine's rules
};

// Connects to it for that, and lets go at once. A path that is too long for a socket is
// kUnknown with ENAMETOOLONG.
SocketLook look_at_socket(const std::filesystem::path& path);

}  // namespace paravane
