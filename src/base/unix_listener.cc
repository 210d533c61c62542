#include "base/unix_listener.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "base/socket_use.h"

namespace paravane {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 16;

sockaddr_un address_of(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

std::string cannot_listen(const fs::path& path) {
  return "cannot listen on " + path.string();
}

int bind_to(int socket, const sockaddr_un& address) {
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

std::unexpected<Error> bind_failure(const fs::path& path, int error) {
  const std::string directory = path.parent_path().string();
  std::string cause = std::strerror(error);
  std::error_code ignored;
  if (error == ENOENT && !fs::exists(path.parent_path(), ignored)) {
    cause = "the directory " + directory + " does not exist; create it, or choose another";
  } else if (error == ENOTDIR) {
    cause = directory + " is not a directory; choose another";
  } else if (error == EACCES || error == EPERM) {
    cause = "the directory " + directory +
            " is not writable by this user; change its owner or mode, or choose another";
  } else if (error == EROFS) {
    cause = "the directory " + directory + " is on a read-only file system; choose another";
  } else if (error == ENOSPC) {
    cause = "no space left in " + directory + "; free some";
  }
  return fail(Errc::kIo, cannot_listen(path) + ": " + cause, error);
}

// Removes what stands at `path` if it is a socket without a listener.
Status remove_stale(const fs::path& path) {
  const SocketLook found = look_at_socket(path);
  switch (found.use) {
    case SocketUse::kNothing: return {};
    case SocketUse::kOther:
      return fail(
          Errc::kIo,
          cannot_listen(path) +
              ": a file that is not a socket has this path; remove it, or choose another path");
    case SocketUse::kListening:
      return fail(Errc::kBadState,
                  cannot_listen(path) +
                      ": another process is listening there; stop it, or choose another path");
    case SocketUse::kStale:
      if (::unlink(path.c_str()) != 0 && errno != ENOENT) return bind_failure(path, errno);
      return {};
    case SocketUse::kUnknown: break;
  }
  if (found.error != EPERM) return bind_failure(path, found.error);
  return fail(Errc::kIo,
              cannot_listen(path) +
                  ": a socket has this path, and this process may not check whether it is "
                  "in use; remove it, or choose another path");
}

}  // namespace

Result<UniqueFd> listen_at(const fs::path& path, int type, const SocketAccess& access) {
  const sockaddr_un address = address_of(path);
  if (path.empty() || path.native().size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, cannot_listen(path) + ": a socket path must have 1 to " +
                                            std::to_string(sizeof address.sun_path - 1) +
                                            " characters; shorten it");
  }
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_by_system(Errc::kIo, cannot_listen(path), errno);
  if (bind_to(socket.get(), address) != 0) {
    if (errno != EADDRINUSE) return bind_failure(path, errno);
    if (const Status removed = remove_stale(path); !removed) {
      return std::unexpected(removed.error());
    }
    if (bind_to(socket.get(), address) != 0) return bind_failure(path, errno);
  }
  // Before listen(): no client can connect while the mode is still the umask's.
  Status given = apply_access(path, access);
  if (given && ::listen(socket.get(), kBacklog) != 0) given = bind_failure(path, errno);
  if (given) return socket;
  ::unlink(path.c_str());
  return std::unexpected(given.error());
}

}  // namespace paravane
