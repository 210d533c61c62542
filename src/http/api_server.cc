#include "http/api_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/directory_check.h"
#include "base/socket_use.h"
#include "base/unique_fd.h"

namespace paravane::http {
namespace {

constexpr int kBacklog = 64;

std::unexpected<Error> cannot(const char* what, const std::filesystem::path& path) {
  return fail_by_system(Errc::kIo, fmt::format("cannot {} {}", what, path.string()), errno);
}

Status clear_stale(const std::filesystem::path& path) {
  switch (look_at_socket(path).use) {
    case SocketUse::kNothing: return {};
    case SocketUse::kStale:
      if (::unlink(path.c_str()) != 0) return cannot("replace", path);
      return {};
    case SocketUse::kListening:
      return fail(Errc::kBadState, fmt::format("another program is listening on api.socket {}. "
                                               "Stop it, or set api.socket in paravaned.toml.",
                                               path.string()));
    case SocketUse::kOther:
    case SocketUse::kUnknown: break;
  }
  return fail(Errc::kBadState, fmt::format("api.socket {} exists but is not paravaned's socket. "
                                           "Move it away, or set api.socket in paravaned.toml.",
                                           path.string()));
}

}  // namespace

Result<std::unique_ptr<ApiServer>> ApiServer::listen(const settings::ApiConfig& config,
                                                     const SocketAccess& access,
                                                     api::RequestHandler& handler) {
  const std::string path = config.socket.string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument,
                fmt::format("api.socket {} is too long: a socket path can have at most {} bytes.",
                            path, sizeof address.sun_path - 1));
  }
  path.copy(address.sun_path, path.size());
  if (Status good = check_directory(config.socket.parent_path(), "the directory of api.socket");
      !good) {
    return std::unexpected(good.error());
  }
  if (Status clear = clear_stale(config.socket); !clear) {
    return std::unexpected(clear.error());
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, sizeof address) != 0) {
    return cannot("create the socket", config.socket);
  }
  std::unique_ptr<ApiServer> server(new ApiServer(config.socket));
  if (Status given = apply_access(config.socket, access); !given) {
    return std::unexpected(given.error());
  }
  if (::listen(socket.get(), kBacklog) != 0) return cannot("listen on", config.socket);
  auto door =
      HttpDoor::open({.name = "api", .threads = config.threads}, std::move(socket), handler);
  if (!door) return std::unexpected(door.error());
  server->door_ = std::move(*door);
  return server;
}

Status ApiServer::check_listener(const settings::ApiConfig& config, const UniqueFd& listener) {
  int listens = 0;
  int type = 0;
  socklen_t size = sizeof listens;
  sockaddr_un address{};
  socklen_t length = sizeof address;
  const bool good =
      ::getsockopt(listener.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
      listens == 1 && ::getsockopt(listener.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
      type == SOCK_STREAM &&
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
      address.sun_family == AF_UNIX && length < sizeof address &&
      config.socket == static_cast<const char*>(address.sun_path) &&
      (::fcntl(listener.get(), F_GETFL) & O_NONBLOCK) != 0;
  if (good) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("not the listening socket {}", config.socket.string()));
}

Result<std::unique_ptr<ApiServer>> ApiServer::take_over(const settings::ApiConfig& config,
                                                        UniqueFd listener,
                                                        api::RequestHandler& handler) {
  if (Status good = check_listener(config, listener); !good) return std::unexpected(good.error());
  std::unique_ptr<ApiServer> server(new ApiServer(config.socket));
  auto door =
      HttpDoor::open({.name = "api", .threads = config.threads}, std::move(listener), handler);
  if (!door) return std::unexpected(door.error());
  server->door_ = std::move(*door);
  return server;
}

ApiServer::~ApiServer() {
  door_.reset();
  ::unlink(path_.c_str());
}

}  // namespace paravane::http
