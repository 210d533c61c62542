// SocketMaker: creates TCP sockets for the engine, which may create none itself. The keeper
// resolves no names and reads nothing from the sockets: the engine gets the descriptors. The
// engine may be compromised, so it gets only what a host of a cluster needs: connections from this
// host's cluster address or that of a VMkernel interface, to the ports that clusters use, and
// those ports to listen on. Without [cluster] address in paravaned.toml it gets none of these. In
// addition, it may listen on the address in [metrics] listen.
//
// Keeper's thread.

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

  // "ID ADDRESS:PORT", to dial also "ID ADDRESS:PORT SOURCE". Each is answered once,
  // unless it has no ID.
  void dial(std::string_view request, Instant now);
  void listen(std::string_view request);

  // Gives up those whose time is over.
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
  // Answers what is wrong itself.
  std::optional<Request> read(std::string_view text);
  // `address`: one of this host; empty: [cluster] address.
  Result<Endpoint> own(const std::string& address, std::uint16_t port) const;
  bool is_own(const std::string& address) const;
  Status may_dial(const Endpoint& source, const Endpoint& target) const;
  static Result<UniqueFd> start(const Endpoint& source, const Endpoint& target, bool& connected);
  Result<UniqueFd> make_listener(const Endpoint& at) const;
  void on_connected(Place place);

  EventLoop& loop_;
  settings::ClusterConfig config_;
  std::optional<Endpoint> metrics_;  // where metrics are asked for
  std::function<std::vector<Ipv4Interface>()> vmkernel_;
  Answer answer_;
  std::list<Waiting> waiting_;  // the oldest first
};

}  // namespace paravane::keeper
