// ChannelTransport connects adapters of this host with adapters of other hosts, over one
// connection (Channel) per host. docs/tcp-channel.md describes the protocol. A host has one such
// transport for each kind of connection: over TCP, and over RDMA adapters.
//
// Other code establishes and authenticates a connection and hands it over with open(). When a
// channel is lost, its outstanding requests end without a response, and the requesters wait for
// their own timers. Then they continue on the next channel to that host. No request is lost or
// executed twice. If the host has asked for it before (holds.h), they spend no retries meanwhile.
//
// Owner thread only: all adapters of one ChannelTransport belong to one worker.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/line.h"
#include "base/result.h"
#include "guestmem/extent.h"
#include "transport/channel/channel.h"
#include "transport/channel/holds.h"
#include "transport/channel/qp_link.h"
#include "transport/channel/stream.h"
#include "verbs/adapter.h"
#include "verbs/transport.h"

namespace paravane::transport_channel {

// Finds the owner of a GID on this host. Implemented by the code that knows the fabric.
class LocalOwners {
 public:
  virtual ~LocalOwners() = default;
  // nullopt: no adapter of this host in that segment has the GID.
  virtual std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment,
                                                     const verbs::Gid& gid,
                                                     verbs::GidType type) const = 0;
};

struct LostChannel {
  verbs::HostId host{};
  std::uint64_t number = 0;  // of its ChannelConfig
  std::string reason;
  bool is_held = false;  // the host has asked to be waited for
};

// What a host has answered to hold_peers().
struct PeerHold {
  enum class Answer : std::uint8_t {
    kAwaited,
    kWaits,
    kRefused,
    kCannot,  // it is of a release that knows no Hold
  };
  verbs::HostId host{};
  Answer answer{};
};

class ChannelTransport final : public verbs::Transport, private LinkFinder {
 public:
  // The number of requests of one queue pair in progress at once.
  static constexpr std::uint32_t kDepth = 64;

  struct Config {
    std::uint64_t incarnation = 0;  // a random number of this daemon, not 0
    std::string_view name = "tcp";  // of the path; a literal
    bool arranges_trunks = false;   // in its channels
    // Which hosts are waited for, shared with other transports to the same hosts; null: its own. It
    // outlives the transport.
    Holds* holds = nullptr;
  };
  // A function that is null is not called.
  struct Events {
    // A channel has ended.
    std::function<void(const LostChannel& lost)> on_lost{};
    // A channel's handshake is complete.
    std::function<void(verbs::HostId host)> on_open{};
    // The peer arranges a trunk, in a channel that is open.
    std::function<void(verbs::HostId host, const wire::TrunkOffer& frame)> on_trunk_offer{};
    std::function<void(verbs::HostId host, const wire::TrunkReady& frame)> on_trunk_ready{};
  };
  // `loop` is the owner thread's. All outlive the transport.
  ChannelTransport(const Config& config, EventLoop& loop, const LocalOwners& owners, Events events);
  ~ChannelTransport() override;

  // REQUIRES: an attached adapter is detached before it is destroyed; adapter ids are
  // small numbers (they index a table).
  void attach(verbs::Adapter& adapter);
  void detach(verbs::Adapter& adapter);

  // Uses `stream` for the channel to `config.host` from now on, and ends the previous channel.
  // Errors: kIo.
  Status open(ChannelConfig config, std::unique_ptr<Stream> stream, Instant now);
  void close(verbs::HostId host, const std::string& reason, Instant now);
  // nullptr: there is no channel, or its handshake is not complete.
  const Channel* channel_to(verbs::HostId host) const;
  // Sends a frame in the open channel to that host, if that host arranges trunks. The frame
  // replaces an unsent frame of the same kind.
  void send_trunk_offer(verbs::HostId host, const wire::TrunkOffer& frame);
  void send_trunk_ready(verbs::HostId host, const wire::TrunkReady& frame);
  // The configuration of a channel over the trunk of these offers. Errors: kBadState (the channel
  // to that host has ended), kIo (no keys).
  Result<ChannelConfig> trunk_config(verbs::HostId host, const wire::TrunkNonce& own,
                                     const wire::TrunkNonce& peer) const;
  // Asks each host with an open channel to wait for this one for so long; zero: not any more.
  void hold_peers(Duration time);
  // The answers so far, of hosts whose channel is open.
  std::vector<PeerHold> peer_holds() const;
  // Which hosts are waited for.
  Holds& holds() { return holds_; }
  // The path to this host leads over another transport from now on. Queue pairs that wait for a
  // channel to it try again at once.
  void release(verbs::HostId host);

  // ---- Transport ----
  std::string_view name() const override { return config_.name; }
  std::uint32_t depth() const override { return kDepth; }
  std::optional<verbs::Outcome> submit(verbs::QueuePair& qp, const verbs::Path& path,
                                       const verbs::SendRequest& request,
                                       verbs::Budget& budget) override;
  void cancel(verbs::QueuePair& qp) override;
  std::optional<verbs::Outcome> send_datagram(verbs::QueuePair& qp, const verbs::Path& path,
                                              const verbs::DatagramSource& source,
                                              const verbs::SendRequest& request) override;
  void send_copied_datagram(const verbs::Path& path, const verbs::DatagramSource& source,
                            const verbs::SendRequest& request,
                            std::span<const std::byte> payload) override;
  void tell_peer_ready(verbs::QueuePair& qp) override;
  void poll(Instant now, verbs::Budget& budget) override;
  bool has_work() const override;

  // When poll() must be called even if nothing happens, to check whether peers are alive.
  Instant next_look() const;
  // When the last data from any host arrived.
  Instant last_message() const;
  // Makes the next poll() read from all sockets, even if none is known to be readable.
  void look_at_sockets();

 private:
  struct Host {
    std::unique_ptr<Channel> channel;
    Line<verbs::QueuePair> waiting;  // for the channel
    bool announced = false;          // to those that wait
    bool watches_writable = false;
  };

  // ---- LinkFinder ----
  InboundLink* find_responder(const wire::Open& frame, verbs::HostId host) override;
  void on_datagram(const wire::Datagram& frame, std::span<const std::byte> payload,
                   verbs::HostId host) override;
  std::optional<ArrivingDatagram> begin_datagram(const wire::Datagram& frame, std::uint64_t bytes,
                                                 verbs::HostId host) override;
  bool place_datagram(const ArrivingDatagram& datagram, std::uint64_t from, std::uint64_t length,
                      ExtentList& out) override;
  void end_datagram(const ArrivingDatagram& datagram, bool is_whole, verbs::HostId host) override;
  void on_trunk_offer(const wire::TrunkOffer& frame, verbs::HostId host) override;
  void on_trunk_ready(const wire::TrunkReady& frame, verbs::HostId host) override;
  Duration on_hold(verbs::HostId host, Duration wanted) override;
  // The queue pair to which a datagram of a peer on `host` may be delivered; nullptr: none.
  verbs::QueuePair* datagram_target(const wire::Datagram& frame, verbs::HostId host) const;
  verbs::QueuePair* qp_of(const ArrivingDatagram& datagram) const;

  QpLink& link_of(verbs::QueuePair& qp);
  QpLink* known_link_of(const verbs::QueuePair& qp) const;
  verbs::QueuePair* local_qp(verbs::SegmentId segment, const verbs::Gid& gid, verbs::GidType type,
                             std::uint32_t number) const;
  void wait_for(Host& host, verbs::QueuePair& qp);
  Channel* arranging_channel_to(verbs::HostId host) const;
  static void call_all(Host& host);
  void announce(verbs::HostId id, Host& host, Instant now);
  void look_after(verbs::HostId id, Host& host, Instant now);
  void end(Host& host, const std::string& reason, Instant now);

  const Config config_;
  EventLoop& loop_;
  const LocalOwners& owners_;
  Events events_;
  Holds own_holds_;  // not used if others are given
  Holds& holds_;
  Instant now_{};                          // of this turn
  std::vector<verbs::Adapter*> adapters_;  // by AdapterId
  std::map<verbs::HostId, Host> hosts_;
  std::size_t turn_ = 0;
  ExtentList scratch_;
};

}  // namespace paravane::transport_channel
