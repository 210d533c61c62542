#include "daemon/socket_maker.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::daemon {
namespace {

constexpr int kBacklog = 64;
constexpr std::size_t kMaxId = 20;

std::string explain(int error) {
  std::string text = std::strerror(error);
  if (error == EAFNOSUPPORT || error == EPERM || error == EACCES) {
    text += " (does the systemd unit let paravaned use the network? See docs/cluster.md)";
  }
  return text;
}

std::unexpected<Error> cannot(const char* what, const Endpoint& endpoint, int error) {
  return fail(Errc::kIo, fmt::format("cannot {} {}: {}", what, endpoint.print(), explain(error)));
}

bool is_channel_port(std::uint16_t port) {
  return port >= kFirstChannelPort && port <= kLastChannelPort;
}

}  // namespace

SocketMaker::SocketMaker(EventLoop& loop, const ClusterConfig& config, const MetricsConfig& metrics,
                         Answer answer)
    : loop_(loop),
      config_(config),
      metrics_(Endpoint::parse(metrics.listen)),
      answer_(std::move(answer)) {}

SocketMaker::~SocketMaker() {
  for (const Waiting& waiting : waiting_) loop_.unwatch(waiting.socket.get());
}

Result<Endpoint> SocketMaker::own(std::uint16_t port) const {
  if (config_.address.empty()) {
    return fail(Errc::kBadState,
                "this host has no address in a cluster: set [cluster] address in "
                "paravaned.toml and start the daemon again");
  }
  const auto endpoint = Endpoint::of(config_.address, port);
  if (!endpoint || !endpoint->is_unicast()) {
    return fail(Errc::kBadState,
                fmt::format("[cluster] address {} is no address of one host", config_.address));
  }
  return *endpoint;
}

auto SocketMaker::read(std::string_view text) -> std::optional<Request> {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank > kMaxId) return std::nullopt;
  std::string id(text.substr(0, blank));
  const auto endpoint = Endpoint::parse(text.substr(blank + 1));
  if (endpoint) return Request{.id = std::move(id), .endpoint = *endpoint};
  answer_(id, fail(Errc::kInvalidArgument, "this is no address and port"));
  return std::nullopt;
}

Status SocketMaker::may_dial(const Endpoint& target) const {
  const auto own_end = own(0);
  if (!own_end) return std::unexpected(own_end.error());
  const std::uint16_t port = target.port();
  const bool known = is_channel_port(port) || port == config_.channel_port ||
                     port == config_.door_port || port == config_.etcd_port;
  const bool local = target.is_loopback() && !own_end->is_loopback();
  if (target.is_unicast() && target.family() == own_end->family() && known && !local) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is not what hosts of a cluster are reached at", target.print()));
}

Result<UniqueFd> SocketMaker::start(const Endpoint& target, bool& connected) const {
  const auto source = own(0);
  if (!source) return std::unexpected(source.error());
  UniqueFd socket(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return cannot("make a socket for", target, errno);
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  if (::bind(socket.get(), source->generic(), source->size()) != 0) {
    return cannot("use the address", *source, errno);
  }
  connected = ::connect(socket.get(), target.generic(), target.size()) == 0;
  if (connected || errno == EINPROGRESS) return socket;
  return cannot("connect to", target, errno);
}

void SocketMaker::dial(std::string_view text, Instant now) {
  const auto request = read(text);
  if (!request) return;
  if (Status good = may_dial(request->endpoint); !good) {
    answer_(request->id, std::unexpected(good.error()));
    return;
  }
  if (waiting_.size() >= kMost) {
    answer_(request->id, fail(Errc::kResourceExhausted, "too many connections are being made"));
    return;
  }
  bool connected = false;
  auto socket = start(request->endpoint, connected);
  if (!socket || connected) {
    answer_(request->id, std::move(socket));
    return;
  }
  const int fd = socket->get();
  waiting_.push_back({.id = request->id,
                      .target = request->endpoint.print(),
                      .socket = std::move(*socket),
                      .deadline = now + kPatience});
  const Place place = std::prev(waiting_.end());
  const auto done = [this, place](std::uint32_t /*events*/) { on_connected(place); };
  if (Status watched = loop_.watch(fd, EPOLLOUT, done); !watched) {
    answer_(place->id, std::unexpected(watched.error()));
    waiting_.erase(place);
  }
}

void SocketMaker::on_connected(Place place) {
  loop_.unwatch(place->socket.get());
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(place->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) {
    answer_(place->id, std::move(place->socket));
  } else {
    answer_(place->id, fail(Errc::kIo, fmt::format("cannot connect to {}: {}", place->target,
                                                   explain(error))));
  }
  waiting_.erase(place);
}

void SocketMaker::drop_late(Instant now) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    Waiting& late = waiting_.front();
    loop_.unwatch(late.socket.get());
    answer_(late.id, fail(Errc::kIo, fmt::format("cannot connect to {}: no answer", late.target)));
    waiting_.pop_front();
  }
}

Result<UniqueFd> SocketMaker::make_listener(const Endpoint& at) const {
  UniqueFd socket(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return cannot("make a socket for", at, errno);
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), at.generic(), at.size()) != 0) return cannot("listen at", at, errno);
  if (::listen(socket.get(), kBacklog) != 0) return cannot("listen at", at, errno);
  return socket;
}

void SocketMaker::listen(std::string_view text) {
  const auto request = read(text);
  if (!request) return;
  const Endpoint& at = request->endpoint;
  if (metrics_ && at.print() == metrics_->print()) {
    answer_(request->id, make_listener(at));
    return;
  }
  const auto own_end = own(at.port());
  if (!own_end) {
    answer_(request->id, std::unexpected(own_end.error()));
    return;
  }
  const bool known = is_channel_port(at.port()) || at.port() == config_.channel_port ||
                     at.port() == config_.door_port;
  if (!known || at.print() != own_end->print()) {
    answer_(request->id, fail(Errc::kInvalidArgument,
                              fmt::format("{} is not what this host listens at", at.print())));
    return;
  }
  answer_(request->id, make_listener(at));
}

}  // namespace paravane::daemon
