#include "daemon/api_server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "daemon/directory_check.h"
#include "daemon/http_connection.h"

namespace paravane::daemon {
namespace {

constexpr int kBacklog = 64;
constexpr auto kPause = std::chrono::milliseconds(100);

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
                                                     control::Management& management,
                                                     control::ClusterManagement& cluster) {
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
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, sizeof address) != 0) {
    return cannot("make the socket", config.socket);
  }
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  std::unique_ptr<ApiServer> server(
      new ApiServer(config, std::move(socket), std::move(*loop), management, cluster));
  if (Status open = server->open_door(config, access); !open) return std::unexpected(open.error());
  return server;
}

ApiServer::ApiServer(const ApiConfig& config, UniqueFd socket, std::unique_ptr<EventLoop> loop,
                     control::Management& management, control::ClusterManagement& cluster)
    : path_(config.socket),
      socket_(std::move(socket)),
      handler_(management, &cluster),
      loop_(std::move(loop)),
      lobby_(*loop_, [this](UniqueFd client, std::string bytes) {
        queue_.put({.client = std::move(client), .bytes = std::move(bytes)});
      }) {}

Status ApiServer::open_door(const ApiConfig& config, const SocketAccess& access) {
  if (Status given = apply_access(path_, access); !given) return given;
  if (::listen(socket_.get(), kBacklog) != 0) return cannot("listen on", path_);
  const auto take = [this](std::uint32_t /*events*/) { take_in(); };
  if (Status watched = loop_->watch(socket_.get(), EPOLLIN, take); !watched) return watched;
  threads_.emplace_back([this] { keep_door(); });
  for (unsigned i = 0; i < config.threads; ++i) {
    threads_.emplace_back([this] { serve(); });
  }
  return {};
}

ApiServer::~ApiServer() {
  stopping_.store(true);
  loop_->wake();
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
  ::unlink(path_.c_str());
}

void ApiServer::keep_door() {
  pthread_setname_np(pthread_self(), "api-door");
  while (!stopping_.load()) {
    const Instant now = std::chrono::steady_clock::now();
    lobby_.drop_late(now);
    std::optional<Duration> wait;
    if (const Instant next = lobby_.next_deadline(); next != kNever) wait = next - now;
    if (const Result<int> ran = loop_->poll(wait); !ran) {
      log::error("api: {}", ran.error().message);
      std::this_thread::sleep_for(kPause);
    }
  }
}

void ApiServer::take_in() {
  UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client) {
    if (Status admitted = lobby_.admit(std::move(client), std::chrono::steady_clock::now());
        !admitted) {
      log::warn("api: cannot take a connection: {}", admitted.error().message);
    }
  } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
    log::warn("api: cannot take a connection: {}", std::strerror(errno));
    std::this_thread::sleep_for(kPause);  // out of descriptors
  }
}

void ApiServer::serve() {
  pthread_setname_np(pthread_self(), "api");
  while (auto request = queue_.take()) {
    serve_http(std::move(request->client), request->bytes, handler_);
  }
}

}  // namespace paravane::daemon
