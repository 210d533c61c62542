// SocketAccess: the group and mode of a socket file, which decide who may connect to it.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/result.h"

namespace paravane {

struct SocketAccess {
  mode_t mode = 0660;
  std::optional<gid_t> group;  // nullopt: the process's own
};

// Errors: kIo, with the path and the reason.
Status apply_access(const std::filesystem::path& socket, const SocketAccess& access);

}  // namespace paravane
