// Tells whether a descriptor's number still leads to the socket that it led to.
//
// The numbers are the program's: it may close one that the library gave it, by close() instead of
// umad_close_port(), and the kernel gives the number to the next file. The library puts a new
// socket into the place of an old one, so it has to know that before. Any thread.

#pragma once

#include <sys/stat.h>

namespace paravane::umad_library {

// 0: there is no such socket.
inline ino_t socket_identity(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

}  // namespace paravane::umad_library
