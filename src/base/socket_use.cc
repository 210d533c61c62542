#include "base/socket_use.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace paravane {

SocketLook look_at_socket(const std::filesystem::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return {.use = SocketUse::kUnknown, .error = errno};
  }
  if (!S_ISSOCK(found.st_mode)) return {.use = SocketUse::kOther};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) {
    return {.use = SocketUse::kUnknown, .error = ENAMETOOLONG};
  }
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return {.use = SocketUse::kUnknown, .error = errno};
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return {.use = SocketUse::kListening};
  }
  switch (errno) {
    case EAGAIN:
    case EINPROGRESS: return {.use = SocketUse::kListening};
    case ECONNREFUSED: return {.use = SocketUse::kStale};
    case ENOENT: return {};  // gone meanwhile
    default: return {.use = SocketUse::kUnknown, .error = errno};
  }
}

}  // namespace paravane
