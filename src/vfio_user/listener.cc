#include "vfio_user/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <utility>

#include "base/accept.h"
#include "base/unix_listener.h"
#include "vfio_user/socket_check.h"

namespace paravane::vfio_user {
namespace {

namespace fs = std::filesystem;

constexpr state::Tag kListeningSocket{1};
constexpr state::Tag kFileDevice{2};
constexpr state::Tag kFileInode{3};

}  // namespace

Result<Listener> Listener::bind(const fs::path& path, mode_t mode) {
  auto socket = listen_at(path, SOCK_STREAM, {.mode = mode, .group{}});
  if (!socket) return std::unexpected(socket.error());
  return Listener(std::move(*socket), path, look_at(path));
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
