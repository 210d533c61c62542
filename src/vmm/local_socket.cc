#include "vmm/local_socket.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace paravane::vmm {

Result<UniqueFd> connect_to(const std::string& directory, const char* name) {
  const auto failed = [&](int error) {
    const bool no_listener = error == ENOENT || error == ECONNREFUSED;
    return fail(no_listener ? Errc::kNotFound : Errc::kIo,
                fmt::format("{}/{}: {}", directory, name,
                            error == EAGAIN ? "QEMU accepts no connections" : std::strerror(error)),
                error);
  };
  // A socket's own path has room for 107 characters only.
  const UniqueFd folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return failed(errno);
  UniqueFd line(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!line) return failed(errno);
  // The directory is QEMU's: a link there would lead root to a socket of QEMU's choice.
  const UniqueFd socket(::openat(folder.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found{};
  struct stat owner{};
  if (!socket || ::fstat(socket.get(), &found) != 0 || ::fstat(folder.get(), &owner) != 0) {
    return failed(errno);
  }
  if (!S_ISSOCK(found.st_mode) || found.st_uid != owner.st_uid) return failed(ENOTSOCK);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}", socket.get());
  std::ranges::copy(path, address.sun_path);
  if (::connect(line.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed(errno);
  }
  if (::fcntl(line.get(), F_SETFL, 0) != 0) return failed(errno);
  return line;
}

}  // namespace paravane::vmm
