#include "cluster/channel_maker.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cluster/clock.h"
#include "cluster/tls_context.h"
#include "transport/tcp/socket_stream.h"
#include "transport/tcp/tls_stream.h"

namespace paravane::cluster {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(5);

// To a host that changes its engine, which takes a tenth of a second. One that takes longer is
// tried as always.
constexpr Duration kQuickPause = std::chrono::milliseconds(20);
constexpr Duration kQuickFor = std::chrono::seconds(2);

// Strangers may knock as often as they like; so many get a handshake at a time.
constexpr std::size_t kMostHandshakes = 64;

// A peer may find ever new ways to fail.
constexpr std::size_t kMostNamed = 8;

// Records leave at once, and what waits to be sent waits in the channel, where what is short goes
// first, and not in the socket: no more than that, beyond what is under way.
constexpr int kMostUnsent = 128 * 1024;

// What both ends must say alike (ALPN): the handshake fails between two that do not.
const char* protocol_of(const ChannelMakerConfig& config) {
  if (config.encrypted) return "paravane/1";
  return config.seals_payload ? "paravane-sealed/2" : "paravane-sealed/1";
}

const char* kind_of(const ChannelMakerConfig& config) {
  if (config.encrypted) return "encrypted";
  return config.seals_payload ? "not encrypted, authenticated"
                              : "not encrypted, authenticated except for long payloads";
}

// False: short messages may wait behind long ones.
bool send_at_once(int socket) {
  const int on = 1;
  return ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
         ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMostUnsent, sizeof kMostUnsent) ==
             0;
}

}  // namespace

struct ChannelMaker::Handshake {
  Handshake(UniqueFd its_socket, std::shared_ptr<const TlsContext> its_context, SSL* its_tls,
            std::string name)
      : socket(std::move(its_socket)),
        context(std::move(its_context)),
        tls(its_tls),
        dialed(std::move(name)) {}
  ~Handshake() { SSL_free(tls); }
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  UniqueFd socket;
  std::shared_ptr<const TlsContext> context;  // that tls was made with; there may be a newer one
  SSL* tls;
  std::string dialed;  // empty: they came to us
  TimerId limit = TimerId::kNone;
};

Result<std::unique_ptr<ChannelMaker>> ChannelMaker::start(ChannelMakerConfig config,
                                                          Events events) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  return std::unique_ptr<ChannelMaker>(
      new ChannelMaker(std::move(config), std::move(events), std::move(*loop)));
}

ChannelMaker::ChannelMaker(ChannelMakerConfig config, Events events,
                           std::shared_ptr<EventLoop> loop)
    : config_(std::move(config)),
      events_(std::move(events)),
      loop_(std::move(loop)),
      mailbox_(std::make_shared<Mailbox>([shared = loop_] { shared->wake(); })),
      door_(*loop_, timers_, "channels", [this](UniqueFd client) { on_knock(std::move(client)); }),
      thread_([this] { run(); }) {}

ChannelMaker::~ChannelMaker() {
  mailbox_->post([this] { stopping_ = true; });
  mailbox_->close();
  thread_.join();
}

void ChannelMaker::run() {
  pthread_setname_np(pthread_self(), "channels");
  for (mailbox_->deliver(); !stopping_; mailbox_->deliver()) {
    timers_.run_due(now());
    dial_who_is_due(now());
    Instant next = timers_.next_deadline();
    for (const auto& [name, host] : hosts_) {
      if (is_wanted(name, host)) next = std::min(next, host.next_try);
    }
    if (mailbox_->waiting()) continue;
    std::optional<Duration> wait;
    if (next != kNever) wait = std::max(next - now(), Duration::zero());
    if (const Result<int> ran = loop_->poll(wait); !ran) {
      complaints_.error(now(), "channels: {}", ran.error().message);
    }
  }
}

void ChannelMaker::set_credentials(ChannelCredentials credentials) {
  mailbox_->post([this, credentials = std::move(credentials)] {
    auto made =
        TlsContext::create(credentials.identity, credentials.authority, protocol_of(config_));
    if (!made) return complaints_.error(now(), "channels: {}", made.error().message);
    tls_ = std::move(*made);
  });
}

void ChannelMaker::set_listener(UniqueFd listener) {
  mailbox_->post([this, shared = std::make_shared<UniqueFd>(std::move(listener))] {
    const Status opened = door_.open(std::move(*shared));
    if (!opened) complaints_.error(now(), "channels: {}", opened.error().message);
  });
}

void ChannelMaker::set_hosts(std::map<std::string, ChannelPeer> peers) {
  mailbox_->post([this, peers = std::move(peers)] {
    std::erase_if(hosts_, [&](const auto& entry) { return !peers.contains(entry.first); });
    for (const auto& [name, peer] : peers) {
      if (name == config_.host) continue;
      Host& host = hosts_[name];
      const bool moved = host.peer.endpoint != peer.endpoint;
      const bool says_so = host.peer.closed != peer.closed;
      host.peer = peer;
      if (says_so && !host.connected && events_.changed) {
        events_.changed(name, peer.closed.empty() ? "not connected yet" : peer.closed);
      }
      if (!moved) continue;
      host.pause = {};
      host.next_try = {};
    }
  });
}

void ChannelMaker::on_lost(const std::string& name, std::uint64_t number, const std::string& reason,
                           Again again) {
  mailbox_->post([this, name, number, reason, again] {
    const auto found = hosts_.find(name);
    // One that another has replaced is no loss.
    if (found == hosts_.end() || found->second.number != number) return;
    Host& host = found->second;
    // The other end judges us when we are done already: a channel may be lost at once, and
    // again and again.
    if (host.connected && now() - host.since >= kLongestPause) {
      host.pause = {};
      host.named.clear();
    }
    if (std::exchange(host.connected, false)) host.since = now();
    if (again == Again::kSoon) host.quick_until = now() + kQuickFor;
    host.next_try = now() + host.pause;
    on_problem(name, reason);
  });
}

void ChannelMaker::turn_away(const std::string& reason) {
  turned_away_.warn(now(), "channels: a connection was refused: {}", reason);
}

// Each problem of a host is named once, until there was a channel for a while: one that
// comes and goes is no news. But the last line does not speak of a channel that has gone.
void ChannelMaker::on_problem(const std::string& name, const std::string& problem) {
  const auto found = hosts_.find(name);
  if (found == hosts_.end()) return;
  if (events_.changed) events_.changed(name, problem);
  Host& host = found->second;
  const bool gone = host.told && !host.connected && now() - host.since >= kLongestPause;
  const bool is_new = host.named.size() < kMostNamed && host.named.insert(problem).second;
  if (!gone && !is_new) return;
  host.told = false;
  comings_and_goings_.warn(now(), "host {}: no channel: {}", name, problem);
}

// A channel that this host makes, and has not.
bool ChannelMaker::is_wanted(const std::string& name, const Host& host) const {
  return dials(name) && !host.connected && !host.dialing && host.peer.closed.empty();
}

void ChannelMaker::dial_who_is_due(Instant time) {
  if (!tls_) return;
  for (auto& [name, host] : hosts_) {
    if (is_wanted(name, host) && host.next_try <= time) dial(name, host, time);
  }
}

void ChannelMaker::dial(const std::string& name, Host& host, Instant time) {
  host.dialing = true;
  host.pause = time < host.quick_until ? kQuickPause
                                       : std::clamp(2 * host.pause, kFirstPause, kLongestPause);
  events_.dial(host.peer.endpoint, [this, mailbox = mailbox_, name](Result<UniqueFd> socket) {
    auto shared = std::make_shared<Result<UniqueFd>>(std::move(socket));
    // Delivered only while this object is there.
    mailbox->post([this, name, shared] { on_dialed(name, std::move(*shared)); });
  });
}

void ChannelMaker::on_dialed(const std::string& name, Result<UniqueFd> socket) {
  if (!hosts_.contains(name)) return;
  if (socket) return begin(std::move(*socket), name);
  on_failed(name, socket.error().message);
}

void ChannelMaker::on_knock(UniqueFd socket) {
  if (!tls_ || handshakes_.size() >= kMostHandshakes) return;
  begin(std::move(socket), "");
}

void ChannelMaker::begin(UniqueFd socket, const std::string& dialed) {
  if (!send_at_once(socket.get())) {
    complaints_.warn(now(),
                     "channel: setsockopt failed, so short messages may wait behind long ones: {}",
                     std::strerror(errno));
  }
  const int fd = socket.get();
  auto tls = tls_->make(fd, !dialed.empty());
  if (!tls) return on_failed(dialed, tls.error().message);
  auto handshake = std::make_unique<Handshake>(std::move(socket), tls_, *tls, dialed);
  handshake->limit = timers_.set(now() + config_.handshake_limit, [this, fd](Instant) {
    give_up(fd, "the peer did not complete the TLS handshake in time");
  });
  const Status watched = loop_->watch(fd, EPOLLIN, [this, fd](std::uint32_t) { go_on(fd); });
  handshakes_.emplace(fd, std::move(handshake));
  if (!watched) return give_up(fd, watched.error().message);
  go_on(fd);
}

void ChannelMaker::go_on(int fd) {
  SSL* tls = handshakes_.at(fd)->tls;
  ERR_clear_error();
  const int done = SSL_do_handshake(tls);
  if (done == 1) return finish(take(fd));
  switch (SSL_get_error(tls, done)) {
    case SSL_ERROR_WANT_READ: static_cast<void>(loop_->change(fd, EPOLLIN)); return;
    case SSL_ERROR_WANT_WRITE: static_cast<void>(loop_->change(fd, EPOLLIN | EPOLLOUT)); return;
    default: give_up(fd, "TLS: " + tls_problem(tls));
  }
}

std::unique_ptr<ChannelMaker::Handshake> ChannelMaker::take(int fd) {
  loop_->unwatch(fd);
  auto node = handshakes_.extract(fd);
  timers_.cancel(node.mapped()->limit);
  return std::move(node.mapped());
}

void ChannelMaker::give_up(int fd, const std::string& reason) {
  const std::unique_ptr<Handshake> handshake = take(fd);
  on_failed(handshake->dialed, reason);
}

void ChannelMaker::on_failed(const std::string& dialed, const std::string& reason) {
  if (dialed.empty()) return turn_away(reason);
  const auto found = hosts_.find(dialed);
  if (found == hosts_.end()) return;
  found->second.dialing = false;
  found->second.next_try = now() + found->second.pause;
  on_problem(dialed, reason);
}

void ChannelMaker::finish(std::unique_ptr<Handshake> handshake) {
  const bool dialed = !handshake->dialed.empty();
  const auto refuse = [&](const std::string& reason) { on_failed(handshake->dialed, reason); };
  if (dialed && hosts_.contains(handshake->dialed)) hosts_.at(handshake->dialed).dialing = false;
  const auto peer = peer_of(handshake->tls);
  if (!peer) return refuse(peer.error().message);
  const authority::Identity* identity = &peer->identity;
  if (identity->cluster != config_.cluster) return refuse("the peer is a host of another cluster");
  if (dialed && identity->host != handshake->dialed) {
    return refuse("host " + identity->host + " answers at the address of the expected host");
  }
  const auto found = hosts_.find(identity->host);
  if (found == hosts_.end()) return refuse("host " + identity->host + " is not known to this host");
  const std::string problem = found->second.peer.refuse(peer->key);
  if (!problem.empty()) return refuse(problem);
  if (asks_for_short_records(handshake->tls)) {
    return refuse("host " + identity->host +
                  " requests short TLS records, which are not supported");
  }
  if (!dialed && dials(identity->host)) {
    return refuse("host " + identity->host + " must not connect: this host connects to that one");
  }
  MadeChannel made{.host = identity->host, .key = peer->key, .dialed = dialed};
  if (config_.encrypted) {
    SSL* tls = std::exchange(handshake->tls, nullptr);
    made.stream = std::make_unique<transport_tcp::TlsStream>(tls, std::move(handshake->socket));
  } else {
    const auto keys = derive_keys(handshake->tls);
    if (!keys) return refuse(keys.error().message);
    made.send_key = dialed ? keys->of_client : keys->of_server;
    made.receive_key = dialed ? keys->of_server : keys->of_client;
    made.stream = std::make_unique<transport_tcp::SocketStream>(std::move(handshake->socket));
  }
  Host& host = found->second;
  made.number = host.number = ++made_;
  host.connected = true;
  host.since = now();
  host.quick_until = {};
  if (!std::exchange(host.told, true)) {
    comings_and_goings_.info(now(), "host {}: channel open ({})", identity->host, kind_of(config_));
  }
  if (events_.changed) events_.changed(identity->host, "");
  events_.made(std::move(made));
}

}  // namespace paravane::cluster
