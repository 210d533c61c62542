// ChannelMaker: opens TCP channels to the other hosts of the cluster, and reopens channels that
// were lost. Between two hosts, the host with the name that sorts first connects to the other. It
// makes the cables of the InfiniBand subnet (cable/cable.h) in the same way and at the same place:
// which of the two a connection is, both hosts say in the handshake (ALPN).
//
// Both hosts authenticate with certificates of the cluster (TLS 1.3). A connection without such a
// certificate ends during the handshake. The number of concurrent handshakes is bounded. If the
// operator disables encryption, the handshake is the same, but afterwards the data is only
// authenticated, with keys that are derived from the handshake.
//
// A cable is always encrypted.
//
// The work is done in a separate thread, because a handshake takes longer than the worker thread is
// allowed to spend on one task. Any thread may call the public functions.

#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "authority/identity.h"
#include "base/counter.h"
#include "base/doorway.h"
#include "base/event_loop.h"
#include "base/instant.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/result.h"
#include "base/timers.h"
#include "base/unique_fd.h"
#include "cable/byte_stream.h"
#include "transport/channel/seal.h"
#include "transport/channel/stream.h"

namespace paravane::cluster {

class TlsContext;

// This host's credentials, as stored in the files of the cluster (PEM).
struct ChannelCredentials {
  std::string identity;   // the key and the certificate of this host
  std::string authority;  // the authority whose certificates are accepted
};

struct ChannelMakerConfig {
  std::string host;     // the name of this host
  std::string cluster;  // the id of the cluster
  bool encrypted = true;
  bool seals_payload = true;  // used without encryption; must be the same on both hosts
  std::chrono::milliseconds handshake_limit{5'000};
};

// Another host of the cluster.
struct ChannelPeer {
  std::string endpoint;  // "192.0.2.1:28250"; empty while it is closed
  // The reason why this host must not connect to it, for example the reason that the host gives for
  // having no channels; empty: it may connect. This information may arrive late, so an existing
  // channel stays, and a channel that the host opens is accepted.
  std::string closed{};
  // Checks a peer that presents a certificate with this host's name and the given key
  // (Certificate::key). Returns the reason why the peer is not this host; empty: it is this host.
  // Called on the maker's thread. Must not be null.
  std::function<std::string(const std::string& key)> refuse;
};

struct MadeChannel {
  std::string host;
  std::uint64_t number = 0;  // unique for each channel
  std::string key{};         // the key that the other host has presented
  bool dialed = false;       // by this host
  std::unique_ptr<transport_channel::Stream> stream{};
  // Only without encryption.
  std::optional<transport_channel::Seal::Key> send_key{};
  std::optional<transport_channel::Seal::Key> receive_key{};
};

struct MadeCable {
  std::string host;
  std::uint64_t number = 0;  // unique for each cable and channel
  std::string key{};         // the key that the other host has presented
  std::unique_ptr<cable::ByteStream> stream{};
};

class ChannelMaker {
 public:
  enum class Kind : std::uint8_t { kChannel, kCable };

  struct Events {
    // A channel to a known host was opened. Called on this object's thread.
    std::function<void(MadeChannel)> made;
    // The reason why there is no channel to a known host; an empty `problem` means that there is
    // one. Called on this object's thread, in addition to log lines. May be null.
    std::function<void(const std::string& host, const std::string& problem)> changed{};
    // The same of cables. May be null: there are no cables.
    std::function<void(MadeCable)> cable_made{};
    std::function<void(const std::string& host, const std::string& problem)> cable_changed{};
    // Connects to `endpoint`, and passes on a non-blocking socket or an error. Called on any
    // thread.
    std::function<void(const std::string& endpoint, std::function<void(Result<UniqueFd>)>)> dial;
  };

  // Errors: kIo.
  static Result<std::unique_ptr<ChannelMaker>> start(ChannelMakerConfig config, Events events);
  ~ChannelMaker();
  ChannelMaker(const ChannelMaker&) = delete;
  ChannelMaker& operator=(const ChannelMaker&) = delete;

  // Sets the credentials for new handshakes. Existing connections stay open.
  void set_credentials(ChannelCredentials credentials);
  // `listener` is a listening, non-blocking socket.
  void set_listener(UniqueFd listener);
  // Sets all other hosts of the cluster, by name. Any other host is refused.
  void set_hosts(std::map<std::string, ChannelPeer> peers) {
    set_hosts(Kind::kChannel, std::move(peers));
  }
  // Sets those to which there are cables.
  void set_cables(std::map<std::string, ChannelPeer> peers) {
    set_hosts(Kind::kCable, std::move(peers));
  }
  // Whether a channel is soon possible again: the host changes its engine. kSoonIfItWasThere: so it
  // is taken to be if the connection had lasted for kLeastLife, and not if it ends at once, again
  // and again.
  enum class Again : std::uint8_t { kAsAlways, kSoon, kSoonIfItWasThere };
  static constexpr std::chrono::seconds kLeastLife{1};
  // The channel to `host` with this number was lost.
  void on_lost(const std::string& host, std::uint64_t number, const std::string& reason,
               Again again = Again::kAsAlways) {
    on_lost({Kind::kChannel, host}, number, reason, again);
  }
  void on_cable_lost(const std::string& host, std::uint64_t number, const std::string& reason) {
    on_lost({Kind::kCable, host}, number, reason, Again::kSoonIfItWasThere);
  }

 private:
  // What leads to a host.
  struct Way {
    Kind kind = Kind::kChannel;
    std::string host;

    friend auto operator<=>(const Way&, const Way&) = default;
  };
  struct Host {
    ChannelPeer peer;
    bool connected = false;
    std::uint64_t number = 0;  // of its last channel
    bool dialing = false;
    Instant since{};  // when the channel was opened or lost
    Duration pause{};
    Instant next_try{};
    Instant quick_until{};  // tries follow one another quickly
    std::set<std::string>
        named{};        // problems that were logged since it was last connected for long
    bool told = false;  // the last line says that there is a channel
  };
  struct Handshake;

  ChannelMaker(ChannelMakerConfig config, Events events, std::shared_ptr<EventLoop> loop);
  void run();
  bool dials(const std::string& host) const { return config_.host < host; }
  void set_hosts(Kind kind, std::map<std::string, ChannelPeer> peers);
  void on_lost(const Way& way, std::uint64_t number, const std::string& reason, Again again);
  bool is_wanted(const Way& way, const Host& host) const;
  void dial_who_is_due(Instant now);
  void dial(const Way& way, Host& host, Instant time);
  void on_dialed(const Way& way, Result<UniqueFd> socket);
  void on_knock(UniqueFd socket);
  // `dialed`: the way that this host opens; nullopt: the other host connected to this one.
  void begin(UniqueFd socket, const std::optional<Way>& dialed);
  void go_on(int fd);
  void finish(std::unique_ptr<Handshake> handshake);
  // Why the other end of a handshake is refused; empty: it is not.
  std::string why_refused(const Handshake& handshake, const authority::Peer& peer,
                          const Way& way) const;
  Result<MadeChannel> make_of(Handshake& handshake, Kind kind) const;
  void give_up(int fd, const std::string& reason);
  void on_failed(const std::optional<Way>& dialed, const std::string& reason);
  std::unique_ptr<Handshake> take(int fd);
  void turn_away(const std::string& reason);
  void on_problem(const Way& way, const std::string& problem);
  // Tells what has changed; an empty problem: it is there.
  void tell(const Way& way, const std::string& problem) const;

  const ChannelMakerConfig config_;
  Events events_;
  // Shared, because the result of Events::dial may arrive after this object was destroyed.
  std::shared_ptr<EventLoop> loop_;
  std::shared_ptr<Mailbox> mailbox_;
  TimerQueue timers_;
  Doorway door_;
  std::shared_ptr<const TlsContext> tls_;
  std::map<Way, Host> hosts_;
  std::map<int, std::unique_ptr<Handshake>> handshakes_;
  LimitedLog turned_away_;
  LimitedLog complaints_;
  LimitedLog comings_and_goings_{std::chrono::seconds(10), 20};  // there are many hosts
  std::uint64_t made_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last member: starts after all others are constructed
};

}  // namespace paravane::cluster
