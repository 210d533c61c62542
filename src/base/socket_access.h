// SocketAccess: the file mode and the group of a UNIX socket. They determine which users are
// allowed to connect to the socket.
//
// Any thread.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/result.h"

namespace paravane {

struct SocketAccess {
  mode_t mode = 0660;
  std::optional<gid_t> group;  // nullopt: the group of the process
};

// Sets the mode and the group of the file at `socket`. Errors: kIo, with the path and the reason.
Status apply_access(const std::filesystem::path& socket, const SocketAccess& access);

}  // namespace paravane
