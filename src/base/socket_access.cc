#include "base/socket_access.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace paravane {

Status apply_access(const std::filesystem::path& socket, const SocketAccess& access) {
  if (access.group && ::chown(socket.c_str(), static_cast<uid_t>(-1), *access.group) != 0) {
    return fail_by_system(
        Errc::kIo,
        fmt::format("cannot change the group of {} to {}", socket.string(), *access.group), errno);
  }
  if (::chmod(socket.c_str(), access.mode) != 0) {
    return fail_by_system(Errc::kIo, fmt::format("cannot set the mode of {}", socket.string()),
                          errno);
  }
  return {};
}

}  // namespace paravane
