// SocketMaker creates TCP sockets for the engine (the unprivileged process), which has no
// permission to create them, and passes the descriptors to the engine. It resolves no names and
// reads nothing from the sockets.
//
// The engine could be compromised, so it gets only the sockets that a host of a cluster needs.
// Their local address is this host's cluster address or the address of a VMkernel interface. They
// either connect to the ports that clusters use, or listen on those ports. If paravaned.toml does
// not set [cluster] address, the engine gets no such sockets.
//
// The sockets of channels are marked with the DSCP in [channel] dscp. Accepted sockets inherit it
// from their listener.
//
// The engine also gets a socket that listens on the address in [metrics] listen.
//
// Keeper's thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/event_loop.h"
#include "base/instant.h"
#include "base/ipv4_interface.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "settings/config.h"

namespace paravane::keeper {

struct SocketMakerConfig {
  settings::ClusterConfig cluster{};
  settings::ChannelConfig channel{};
  settings::MetricsConfig metrics{};
  // The addresses of VMkernel interfaces, at the moment; empty: there are none.
  std::function<std::vector<Ipv4Interface>()> vmkernel{};
};

class SocketMaker {
 public:
  static constexpr std::size_t kMost = 64;  // connections that are not yet made
  static constexpr Duration kPatience = std::chrono::seconds(4);

  // `id` is whatever the engine calls its request.
  using Answer = std::function<void(std::string_view id, Result<UniqueFd> socket)>;

  // `loop` outlives us.
  SocketMaker(EventLoop& loop, SocketMakerConfig config, Answer answer);
  ~SocketMaker();
  SocketMaker(const SocketMaker&) = delete;
  SocketMaker& operator=(const SocketMaker&) = delete;

  // `request` is "ID ADDRESS:PORT" or, for dial() only, "ID ADDRESS:PORT SOURCE". Each request with
  // an ID is answered once.
  void dial(std::string_view request, Instant now);
  void listen(std::string_view request);

  // Gives up the connections whose time limit has passed.
  void drop_late(Instant now);
  Instant next_deadline() const { return waiting_.empty() ? kNever : waiting_.front().deadline; }

 private:
  struct Waiting {
    std::string id;
    std::string target;
    UniqueFd socket;
    Instant deadline;
  };
  using Place = std::list<Waiting>::iterator;
  struct Request {
    std::string id;
    Endpoint endpoint;
    std::string source{};  // empty: [cluster] address
  };
  // nullopt: the request is invalid, and was answered with the reason.
  std::optional<Request> read(std::string_view text);
  // `address`: one of this host; empty: [cluster] address.
  Result<Endpoint> own(const std::string& address, std::uint16_t port) const;
  bool is_own(const std::string& address) const;
  Status may_dial(const Endpoint& source, const Endpoint& target) const;
  Result<UniqueFd> start(const Endpoint& source, const Endpoint& target, bool& connected) const;
  // Marks the packets of a socket whose remote or own port is that of a channel.
  void mark(const UniqueFd& socket, const Endpoint& end) const;
  Result<UniqueFd> make_listener(const Endpoint& at) const;
  void on_connected(Place place);

  EventLoop& loop_;
  settings::ClusterConfig config_;
  settings::ChannelConfig channel_;
  std::optional<Endpoint> metrics_;  // where metrics are asked for
  std::function<std::vector<Ipv4Interface>()> vmkernel_;
  Answer answer_;
  std::list<Waiting> waiting_;  // the oldest first
};

}  // namespace paravane::keeper
