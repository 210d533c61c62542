#include "vfio_user/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/accept.h"
#include "base/socket_use.h"
#include "vfio_user/socket_check.h"

namespace paravane::vfio_user {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 16;

constexpr state::Tag kListeningSocket{1};
constexpr state::Tag kFileDevice{2};
constexpr state::Tag kFileInode{3};

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

Result<Listener> Listener::bind(const fs::path& path, mode_t mode) {
  const sockaddr_un address = address_of(path);
  if (path.empty() || path.native().size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, cannot_listen(path) + ": a socket path must have 1 to " +
                                            std::to_string(sizeof address.sun_path - 1) +
                                            " characters; shorten it");
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_by_system(Errc::kIo, cannot_listen(path), errno);
  if (bind_to(socket.get(), address) != 0) {
    if (errno != EADDRINUSE) return bind_failure(path, errno);
    if (const Status removed = remove_stale(path); !removed) {
      return std::unexpected(removed.error());
    }
    if (bind_to(socket.get(), address) != 0) return bind_failure(path, errno);
  }
  Listener listener(std::move(socket), path, look_at(path));
  // Before listen(): no client can connect while the mode is still the umask's.
  if (::chmod(path.c_str(), mode) != 0) return bind_failure(path, errno);
  if (::listen(listener.fd(), kBacklog) != 0) return bind_failure(path, errno);
  return listener;
}

Listener::Listener(UniqueFd socket, fs::path path, FileId file)
    : socket_(std::move(socket)), path_(std::move(path)), file_(file) {}

Listener::FileId Listener::look_at(const fs::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return {};
  return {.device = found.st_dev, .inode = found.st_ino};
}

Listener::Listener(Listener&& other) noexcept
    : socket_(std::move(other.socket_)),
      path_(std::exchange(other.path_, {})),
      file_(other.file_) {}

Listener::~Listener() {
  if (owns_file()) ::unlink(path_.c_str());
}

bool Listener::owns_file() const {
  return socket_ && file_ != FileId{} && look_at(path_) == file_;
}

void Listener::abandon() {
  socket_.reset();
}

void Listener::save(state::Writer& out, state::Descriptors& descriptors) const {
  descriptors.save(out, kListeningSocket, fd());
  out.number(kFileDevice, file_.device);
  out.number(kFileInode, file_.inode);
}

// Which file it made is part of the state, for another may stand there now.
std::optional<Listener> Listener::load(state::Reader& in, state::Descriptors& descriptors,
                                       const fs::path& path) {
  UniqueFd socket = descriptors.load(in, kListeningSocket);
  const FileId file{.device = in.number(kFileDevice), .inode = in.number(kFileInode)};
  in.end();
  if (!in.good()) return std::nullopt;
  const int flags = ::fcntl(socket.get(), F_GETFL);
  const bool is_ours = is_socket_of(path, socket.get(), SocketKind::kListening) && flags >= 0 &&
                       (flags & O_NONBLOCK) != 0;
  if (!in.expect(is_ours, "this socket does not listen there")) return std::nullopt;
  return Listener(std::move(socket), path, file);
}

Result<std::optional<UniqueFd>> Listener::accept() {
  return accept_client(fd());
}

}  // namespace paravane::vfio_user
