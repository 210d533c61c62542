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

#include "base/doubled_pause.h"
#include "cluster/cable_stream.h"
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
constexpr const char* kCableProtocol = "paravane-cable/1";
const char* channel_protocol(const ChannelMakerConfig& config) {
  if (config.encrypted) return "paravane/1";
  return config.seals_payload ? "paravane-sealed/2" : "paravane-sealed/1";
}

std::string protocol_of(const ChannelMakerConfig& config, ChannelMaker::Kind kind) {
  return kind == ChannelMaker::Kind::kCable ? kCableProtocol : channel_protocol(config);
}

const char* word_of(ChannelMaker::Kind kind) {
  return kind == ChannelMaker::Kind::kCable ? "InfiniBand cable" : "channel";
}

const char* kind_of(const ChannelMakerConfig& config, ChannelMaker::Kind kind) {
  if (config.encrypted || kind == ChannelMaker::Kind::kCable) return "encrypted";
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
            std::optional<Way> its_way)
      : socket(std::move(its_socket)),
        context(std::move(its_context)),
        tls(its_tls),
        dialed(std::move(its_way)) {}
  ~Handshake() { SSL_free(tls); }
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  UniqueFd socket;
  std::shared_ptr<const TlsContext> context;  // that tls was made with; there may be a newer one
  SSL* tls;
  std::optional<Way> dialed;  // nullopt: they came to us
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
    for (const auto& [way, host] : hosts_) {
      if (is_wanted(way, host)) next = std::min(next, host.next_try);
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
    auto made = TlsContext::create(credentials.identity, credentials.authority,
                                   {channel_protocol(config_), kCableProtocol});
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

void ChannelMaker::set_hosts(Kind kind, std::map<std::string, ChannelPeer> peers) {
  mailbox_->post([this, kind, peers = std::move(peers)] {
    std::erase_if(hosts_, [&](const auto& entry) {
      return entry.first.kind == kind && !peers.contains(entry.first.host);
    });
    for (const auto& [name, peer] : peers) {
      if (name == config_.host) continue;
      const Way way{kind, name};
      Host& host = hosts_[way];
      const bool moved = host.peer.endpoint != peer.endpoint;
      const bool says_so = host.peer.closed != peer.closed;
      host.peer = peer;
      if (says_so && !host.connected)
        tell(way, peer.closed.empty() ? "not connected yet" : peer.closed);
      if (!moved) continue;
      host.pause = {};
      host.next_try = {};
    }
  });
}

void ChannelMaker::on_lost(const Way& way, std::uint64_t number, const std::string& reason,
                           Again again) {
  mailbox_->post([this, way, number, reason, again] {
    const auto found = hosts_.find(way);
    // One that another has replaced is no loss.
    if (found == hosts_.end() || found->second.number != number) return;
    Host& host = found->second;
    const bool was_there = host.connected && now() - host.since >= kLeastLife;
    // The other end judges us when we are done already: a channel may be lost at once, and
    // again and again.
    if (host.connected && now() - host.since >= kLongestPause) {
      host.pause = {};
      host.named.clear();
    }
    if (std::exchange(host.connected, false)) host.since = now();
    if (again == Again::kSoon || (again == Again::kSoonIfItWasThere && was_there))
      host.quick_until = now() + kQuickFor;
    host.next_try = now() + host.pause;
    on_problem(way, reason);
  });
}

void ChannelMaker::tell(const Way& way, const std::string& problem) const {
  const auto& changed = way.kind == Kind::kCable ? events_.cable_changed : events_.changed;
  if (changed) changed(way.host, problem);
}

void ChannelMaker::turn_away(const std::string& reason) {
  turned_away_.warn(now(), "channels: a connection was refused: {}", reason);
}

// Each problem of a host is named once, until there was a channel for a while: one that
// comes and goes is no news. But the last line does not speak of a channel that has gone.
void ChannelMaker::on_problem(const Way& way, const std::string& problem) {
  const auto found = hosts_.find(way);
  if (found == hosts_.end()) return;
  tell(way, problem);
  Host& host = found->second;
  const bool gone = host.told && !host.connected && now() - host.since >= kLongestPause;
  const bool is_new = host.named.size() < kMostNamed && host.named.insert(problem).second;
  if (!gone && !is_new) return;
  host.told = false;
  comings_and_goings_.warn(now(), "host {}: no {}: {}", way.host, word_of(way.kind), problem);
}

// A channel that this host makes, and has not.
bool ChannelMaker::is_wanted(const Way& way, const Host& host) const {
  return dials(way.host) && !host.connected && !host.dialing && host.peer.closed.empty();
}

void ChannelMaker::dial_who_is_due(Instant time) {
  if (!tls_) return;
  for (auto& [way, host] : hosts_) {
    if (is_wanted(way, host) && host.next_try <= time) dial(way, host, time);
  }
}

void ChannelMaker::dial(const Way& way, Host& host, Instant time) {
  host.dialing = true;
  host.pause =
      time < host.quick_until ? kQuickPause : doubled_pause(host.pause, kFirstPause, kLongestPause);
  events_.dial(host.peer.endpoint, [this, mailbox = mailbox_, way](Result<UniqueFd> socket) {
    auto shared = std::make_shared<Result<UniqueFd>>(std::move(socket));
    // Delivered only while this object is there.
    mailbox->post([this, way, shared] { on_dialed(way, std::move(*shared)); });
  });
}

void ChannelMaker::on_dialed(const Way& way, Result<UniqueFd> socket) {
  if (!hosts_.contains(way)) return;
  if (socket) return begin(std::move(*socket), way);
  on_failed(way, socket.error().message);
}

void ChannelMaker::on_knock(UniqueFd socket) {
  if (!tls_ || handshakes_.size() >= kMostHandshakes) return;
  begin(std::move(socket), std::nullopt);
}

void ChannelMaker::begin(UniqueFd socket, const std::optional<Way>& dialed) {
  if (!send_at_once(socket.get())) {
    complaints_.warn(now(),
                     "channel: setsockopt failed, so short messages may wait behind long ones: {}",
                     std::strerror(errno));
  }
  const int fd = socket.get();
  auto tls = dialed ? tls_->connect(fd, protocol_of(config_, dialed->kind)) : tls_->accept(fd);
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

void ChannelMaker::on_failed(const std::optional<Way>& dialed, const std::string& reason) {
  if (!dialed) return turn_away(reason);
  const auto found = hosts_.find(*dialed);
  if (found == hosts_.end()) return;
  found->second.dialing = false;
  found->second.next_try = now() + found->second.pause;
  on_problem(*dialed, reason);
}

std::string ChannelMaker::why_refused(const Handshake& handshake, const authority::Peer& peer,
                                      const Way& way) const {
  const auto& [cluster, host] = peer.identity;
  if (cluster != config_.cluster) return "the peer is a host of another cluster";
  if (handshake.dialed && host != handshake.dialed->host)
    return "host " + host + " answers at the address of the expected host";
  const auto found = hosts_.find(way);
  if (found == hosts_.end()) {
    return way.kind == Kind::kCable && hosts_.contains({Kind::kChannel, host})
               ? "there is no InfiniBand cable to host " + host
               : "host " + host + " is not known to this host";
  }
  if (std::string problem = found->second.peer.refuse(peer.key); !problem.empty()) return problem;
  if (asks_for_short_records(handshake.tls))
    return "host " + host + " requests short TLS records, which are not supported";
  if (!handshake.dialed && dials(host))
    return "host " + host + " must not connect: this host connects to that one";
  return {};
}

void ChannelMaker::finish(std::unique_ptr<Handshake> handshake) {
  const auto& dialed = handshake->dialed;
  if (dialed && hosts_.contains(*dialed)) hosts_.at(*dialed).dialing = false;
  const auto peer = peer_of(handshake->tls);
  if (!peer) return on_failed(dialed, peer.error().message);
  const Way way{protocol_of(handshake->tls) == kCableProtocol ? Kind::kCable : Kind::kChannel,
                peer->identity.host};
  if (const std::string reason = why_refused(*handshake, *peer, way); !reason.empty())
    return on_failed(dialed, reason);
  Host& host = hosts_.at(way);
  const std::uint64_t number = ++made_;
  auto made = make_of(*handshake, way.kind);
  if (!made) return on_failed(dialed, made.error().message);
  host.number = number;
  host.connected = true;
  host.since = now();
  host.quick_until = {};
  if (!std::exchange(host.told, true)) {
    comings_and_goings_.info(now(), "host {}: {} open ({})", way.host, word_of(way.kind),
                             kind_of(config_, way.kind));
  }
  tell(way, "");
  made->host = way.host;
  made->number = number;
  made->key = peer->key;
  if (way.kind == Kind::kChannel) return events_.made(std::move(*made));
  events_.cable_made({.host = made->host,
                      .number = number,
                      .key = made->key,
                      .stream = std::make_unique<CableStream>(std::move(made->stream))});
}

// The channel of a handshake that is done, as far as it follows from it.
Result<MadeChannel> ChannelMaker::make_of(Handshake& handshake, Kind kind) const {
  const bool dialed = handshake.dialed.has_value();
  MadeChannel made{.host = {}, .dialed = dialed};
  if (config_.encrypted || kind == Kind::kCable) {
    SSL* tls = std::exchange(handshake.tls, nullptr);
    made.stream = std::make_unique<transport_tcp::TlsStream>(tls, std::move(handshake.socket));
    return made;
  }
  const auto keys = derive_keys(handshake.tls);
  if (!keys) return std::unexpected(keys.error());
  made.send_key = dialed ? keys->of_client : keys->of_server;
  made.receive_key = dialed ? keys->of_server : keys->of_client;
  made.stream = std::make_unique<transport_tcp::SocketStream>(std::move(handshake.socket));
  return made;
}

}  // namespace paravane::cluster
