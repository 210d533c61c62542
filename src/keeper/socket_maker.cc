#include "keeper/socket_maker.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::keeper {
namespace {

constexpr int kBacklog = 64;
constexpr std::size_t kMaxId = 20;

std::string explain(int error) {
  std::string text = std::strerror(error);
  if (error == EAFNOSUPPORT || error == EPERM || error == EACCES) {
    text +=
        " (the systemd unit may deny paravaned the network; see "
        "/usr/share/doc/paravane/docs/cluster.md)";
  }
  return text;
}

std::unexpected<Error> cannot(const char* what, const Endpoint& endpoint, int error) {
  return fail(Errc::kIo, fmt::format("cannot {} {}: {}", what, endpoint.print(), explain(error)),
              error);
}

bool is_channel_port(std::uint16_t port) {
  return port >= settings::kFirstChannelPort && port <= settings::kLastChannelPort;
}

}  // namespace

SocketMaker::SocketMaker(EventLoop& loop, SocketMakerConfig config, Answer answer)
    : loop_(loop),
      config_(std::move(config.cluster)),
      channel_(config.channel),
      metrics_(Endpoint::parse(config.metrics.listen)),
      vmkernel_(std::move(config.vmkernel)),
      answer_(std::move(answer)) {}

SocketMaker::~SocketMaker() {
  for (const Waiting& waiting : waiting_) loop_.unwatch(waiting.socket.get());
}

Result<Endpoint> SocketMaker::own(const std::string& address, std::uint16_t port) const {
  if (config_.address.empty()) {
    return fail(Errc::kBadState,
                "this host has no cluster address: set [cluster] address in paravaned.toml and "
                "restart the daemon");
  }
  if (!address.empty() && !is_own(address)) {
    return fail(Errc::kInvalidArgument, fmt::format("{} is not an address of this host", address));
  }
  const auto endpoint = Endpoint::of(address.empty() ? config_.address : address, port);
  if (!endpoint || !endpoint->is_unicast()) {
    return fail(Errc::kBadState,
                fmt::format("[cluster] address {} is not a unicast address", config_.address));
  }
  return *endpoint;
}

bool SocketMaker::is_own(const std::string& address) const {
  const auto cluster = Endpoint::of(config_.address, 0);
  if (cluster && cluster->address() == address) return true;
  if (!vmkernel_) return false;
  return std::ranges::any_of(vmkernel_(), [&address](const Ipv4Interface& own) {
    return format_ipv4(own.address) == address;
  });
}

auto SocketMaker::read(std::string_view text) -> std::optional<Request> {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank > kMaxId) return std::nullopt;
  std::string id(text.substr(0, blank));
  const std::string_view rest = text.substr(blank + 1);
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const auto endpoint = Endpoint::parse(rest.substr(0, end));
  if (endpoint) {
    return Request{.id = std::move(id),
                   .endpoint = *endpoint,
                   .source = std::string(rest.substr(std::min(end + 1, rest.size())))};
  }
  answer_(id, fail(Errc::kInvalidArgument, "not a valid address and port"));
  return std::nullopt;
}

Status SocketMaker::may_dial(const Endpoint& source, const Endpoint& target) const {
  const std::uint16_t port = target.port();
  const bool known =
      is_channel_port(port) || port == config_.door_port || port == config_.etcd_port;
  const bool local = target.is_loopback() && !source.is_loopback();
  if (target.is_unicast() && target.family() == source.family() && known && !local) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("connections to {} are not allowed, because it is not a port of a cluster host",
                  target.print()));
}

// Before anything is sent: a connection's first packets have it, too. Packets without it arrive as
// well, so a kernel that refuses is no reason to have no channel.
void SocketMaker::mark(const UniqueFd& socket, const Endpoint& end) const {
  if (!is_channel_port(end.port())) return;
  const int traffic_class = static_cast<int>(channel_.dscp) << 2;
  const bool is_ipv6 = end.family() == AF_INET6;
  ::setsockopt(socket.get(), is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, is_ipv6 ? IPV6_TCLASS : IP_TOS,
               &traffic_class, sizeof traffic_class);
}

Result<UniqueFd> SocketMaker::start(const Endpoint& source, const Endpoint& target,
                                    bool& connected) const {
  UniqueFd socket(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return cannot("create a socket for", target, errno);
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  mark(socket, target);
  if (::bind(socket.get(), source.generic(), source.size()) != 0) {
    return cannot("use the address", source, errno);
  }
  connected = ::connect(socket.get(), target.generic(), target.size()) == 0;
  if (connected || errno == EINPROGRESS) return socket;
  return cannot("connect to", target, errno);
}

void SocketMaker::dial(std::string_view text, Instant now) {
  const auto request = read(text);
  if (!request) return;
  const auto source = own(request->source, 0);
  const Status good =
      source ? may_dial(*source, request->endpoint) : std::unexpected(source.error());
  if (!good) {
    answer_(request->id, std::unexpected(good.error()));
    return;
  }
  if (waiting_.size() >= kMost) {
    answer_(request->id, fail(Errc::kResourceExhausted, "too many connections in progress"));
    return;
  }
  bool connected = false;
  auto socket = start(*source, request->endpoint, connected);
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
    answer_(place->id,
            fail(Errc::kIo, fmt::format("cannot connect to {}: {}", place->target, explain(error)),
                 error));
  }
  waiting_.erase(place);
}

void SocketMaker::drop_late(Instant now) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    Waiting& late = waiting_.front();
    loop_.unwatch(late.socket.get());
    answer_(late.id, fail(Errc::kIo, fmt::format("cannot connect to {}: timed out", late.target)));
    waiting_.pop_front();
  }
}

Result<UniqueFd> SocketMaker::make_listener(const Endpoint& at) const {
  UniqueFd socket(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return cannot("create a socket for", at, errno);
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  mark(socket, at);
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
  const auto own_end = own(at.address(), at.port());
  if (!own_end) {
    answer_(request->id, std::unexpected(own_end.error()));
    return;
  }
  // The authority's door is at [cluster] address alone.
  const auto door = own({}, config_.door_port);
  const bool is_door = door && at.print() == door->print();
  if (!is_channel_port(at.port()) && !is_door) {
    answer_(request->id, fail(Errc::kInvalidArgument,
                              fmt::format("this host may not listen on {}", at.print())));
    return;
  }
  answer_(request->id, make_listener(at));
}

}  // namespace paravane::keeper
