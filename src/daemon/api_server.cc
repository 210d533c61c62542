#include "daemon/api_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.h"
#include "daemon/directory_check.h"
#include "daemon/http_connection.h"

namespace paravane::daemon {
namespace {

constexpr int kBacklog = 64;

std::unexpected<Error> cannot(const char* what, const std::filesystem::path& path) {
  return fail(Errc::kIo,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

// A socket file that nobody listens on is what a killed daemon leaves behind.
Status clear_stale(const sockaddr_un& address, const std::filesystem::path& path) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), generic, sizeof address) == 0) {
    return fail(Errc::kBadState,
                fmt::format("another program listens at api.socket {}. End it, or set api.socket "
                            "in paravaned.toml.",
                            path.string()));
  }
  if (errno == ENOENT) return {};
  if (errno != ECONNREFUSED || !std::filesystem::is_socket(path)) {
    return fail(Errc::kBadState, fmt::format("api.socket {} exists and is not a socket of ours. "
                                             "Move it away, or set api.socket in paravaned.toml.",
                                             path.string()));
  }
  if (::unlink(path.c_str()) != 0) return cannot("replace", path);
  return {};
}

}  // namespace

Result<std::unique_ptr<ApiServer>> ApiServer::listen(const ApiConfig& config,
                                                     const SocketAccess& access,
                                                     control::Management& management) {
  const std::string path = config.socket.string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument,
                fmt::format("api.socket {} is too long: a socket's path has at most {} bytes.",
                            path, sizeof address.sun_path - 1));
  }
  path.copy(address.sun_path, path.size());
  if (Status good = check_directory(config.socket.parent_path(), "the directory of api.socket");
      !good) {
    return std::unexpected(good.error());
  }
  if (Status clear = clear_stale(address, config.socket); !clear) {
    return std::unexpected(clear.error());
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, sizeof address) != 0) {
    return cannot("make the socket", config.socket);
  }
  std::unique_ptr<ApiServer> server(new ApiServer(config, std::move(socket), management));
  if (Status given = apply_access(config.socket, access); !given) {
    return std::unexpected(given.error());
  }
  if (::listen(server->socket_.get(), kBacklog) != 0) return cannot("listen on", config.socket);
  for (unsigned i = 0; i < config.threads; ++i) {
    server->threads_.emplace_back([s = server.get()] { s->serve(); });
  }
  return server;
}

ApiServer::ApiServer(const ApiConfig& config, UniqueFd socket, control::Management& management)
    : path_(config.socket), socket_(std::move(socket)), handler_(management) {}

ApiServer::~ApiServer() {
  stopping_.store(true);
  ::shutdown(socket_.get(), SHUT_RDWR);  // lets every accept() return
  for (std::thread& thread : threads_) thread.join();
  ::unlink(path_.c_str());
}

void ApiServer::serve() {
  pthread_setname_np(pthread_self(), "api");
  while (!stopping_.load()) {
    UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection) {
      serve_http(std::move(connection), handler_);
    } else if (!stopping_.load() && errno != EINTR && errno != ECONNABORTED) {
      log::warn("api: cannot take a connection: {}", std::strerror(errno));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // out of descriptors: wait
    }
  }
}

}  // namespace paravane::daemon
