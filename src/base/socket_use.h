// SocketUse: what stands where a UNIX socket is to be. A process that was killed leaves its
// socket's file behind; whoever wants the path, or clears a directory, must not take the
// socket of a process that lives.
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
