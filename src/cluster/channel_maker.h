// ChannelMaker: opens the TCP channels to the other hosts of the cluster, and reopens channels that
// were lost. Of two hosts, the one whose name sorts first connects to the other.
//
// Both ends authenticate with certificates of the cluster (TLS 1.3, mutual). A connection without
// such a certificate ends at the handshake, and the number of concurrent handshakes is bounded.
// Without encryption the handshake is the same, and keys derived from it then authenticate the
// records.
//
// It runs in a thread of its own, because a handshake takes longer than a turn of the worker. Any
// thread may call it.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "base/doorway.h"
#include "base/event_loop.h"
#include "base/instant.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/result.h"
#include "base/timers.h"
#include "base/unique_fd.h"
#include "transport/tcp/seal.h"
#include "transport/tcp/stream.h"

namespace paravane::cluster {

class TlsContext;

// Who we are, as files of the cluster have it (PEM).
struct ChannelCredentials {
  std::string identity;   // our key and certificate
  std::string authority;  // whose certificates count
};

struct ChannelMakerConfig {
  std::string host;     // our name
  std::string cluster;  // its id
  bool encrypted = true;
  bool seals_payload = true;  // without encryption; both ends must say the same
  std::chrono::milliseconds handshake_limit{5'000};
};

// Another host of the cluster.
struct ChannelPeer {
  std::string endpoint;  // "192.0.2.1:28250"; empty while it is closed
  // Why the host says that it has no channels, and is not dialed; empty: it is open. What it
  // says arrives later than what it does: a channel that is there stays, and one that it makes
  // is taken.
  std::string closed{};
  // Why who shows a certificate of that name with this key (Certificate::key) is not that
  // host; empty: it is. On the maker's thread. Must be there.
  std::function<std::string(const std::string& key)> refuse;
};

struct MadeChannel {
  std::string host;
  std::uint64_t number = 0;  // each has its own
  std::string key{};         // that the other end has shown
  std::unique_ptr<transport_tcp::Stream> stream{};
  // Without encryption.
  std::optional<transport_tcp::Seal::Key> send_key{};
  std::optional<transport_tcp::Seal::Key> receive_key{};
};

class ChannelMaker {
 public:
  struct Events {
    // On this object's thread. There is a connection to a host that is known.
    std::function<void(MadeChannel)> made;
    // On this object's thread, beside what is logged. There is no channel to a host that is
    // known; empty: there is one. May be empty itself.
    std::function<void(const std::string& host, const std::string& problem)> changed{};
    // Gives a connected socket that does not block, or says why not; on any thread.
    std::function<void(const std::string& endpoint, std::function<void(Result<UniqueFd>)>)> dial;
  };

  // Errors: kIo.
  static Result<std::unique_ptr<ChannelMaker>> start(ChannelMakerConfig config, Events events);
  ~ChannelMaker();
  ChannelMaker(const ChannelMaker&) = delete;
  ChannelMaker& operator=(const ChannelMaker&) = delete;

  // For handshakes from now on; connections that are there stay.
  void set_credentials(ChannelCredentials credentials);
  // A listening socket that does not block.
  void set_listener(UniqueFd listener);
  // All other hosts of the cluster, by name. Others are refused.
  void set_hosts(std::map<std::string, ChannelPeer> peers);
  // The channel to `host` that was made with this number is no more.
  void on_lost(const std::string& host, std::uint64_t number, const std::string& reason);

 private:
  struct Host {
    ChannelPeer peer;
    bool connected = false;
    std::uint64_t number = 0;  // of its last channel
    bool dialing = false;
    Instant since{};  // connected, or not any more
    Duration pause{};
    Instant next_try{};
    std::set<std::string>
        named{};        // problems that were logged since it was last connected for long
    bool told = false;  // the last line says that there is a channel
  };
  struct Handshake;

  ChannelMaker(ChannelMakerConfig config, Events events, std::shared_ptr<EventLoop> loop);
  void run();
  bool dials(const std::string& host) const { return config_.host < host; }
  bool is_wanted(const std::string& name, const Host& host) const;
  void dial_who_is_due(Instant now);
  void dial(const std::string& name, Host& host);
  void on_dialed(const std::string& name, Result<UniqueFd> socket);
  void on_knock(UniqueFd socket);
  void begin(UniqueFd socket, const std::string& dialed);
  void go_on(int fd);
  void finish(std::unique_ptr<Handshake> handshake);
  void give_up(int fd, const std::string& reason);
  // `dialed`: whom; empty: they came to us.
  void on_failed(const std::string& dialed, const std::string& reason);
  std::unique_ptr<Handshake> take(int fd);
  void turn_away(const std::string& reason);
  void on_problem(const std::string& name, const std::string& problem);

  const ChannelMakerConfig config_;
  Events events_;
  // Shared: whoever was asked to dial may answer when this object is gone.
  std::shared_ptr<EventLoop> loop_;
  std::shared_ptr<Mailbox> mailbox_;
  TimerQueue timers_;
  Doorway door_;
  std::shared_ptr<const TlsContext> tls_;
  std::map<std::string, Host> hosts_;
  std::map<int, std::unique_ptr<Handshake>> handshakes_;
  LimitedLog turned_away_;
  LimitedLog complaints_;
  LimitedLog comings_and_goings_{std::chrono::seconds(10), 20};  // there are many hosts
  std::uint64_t made_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace paravane::cluster
