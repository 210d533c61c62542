// Trunks holds the channels of a worker over RDMA adapters. A host is reached over such a channel
// while it is open, and otherwise over TCP.
//
// Worker thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "fabric/directory.h"
#include "transport/channel/channel_transport.h"
#include "worker/channel_tenant.h"
#include "worker/trunk_listener.h"
#include "worker/worker.h"

namespace paravane::worker {

// How a host is reached over RDMA adapters.
struct TrunkReport {
  std::string device{};    // of this host, that carries the trunk; empty: no trunk is open
  std::uint32_t port = 1;  // of the device
  std::string why{};       // the reason why no trunk is open; empty: not known
  bool at_peer = false;    // `why` follows the name of the host
};

// A trunk has opened or has ended. A trunk can end without having been open.
struct TrunkNews {
  verbs::HostId host{};
  std::string device{};  // of this host
  std::string reason{};  // why it has ended; empty: it has opened
};

class Trunks {
 public:
  // `tcp`: the channels in which trunks are arranged. All outlive the object. `tell`: null: nothing
  // is told.
  Trunks(Worker& worker, std::uint64_t incarnation, const transport_channel::LocalOwners& owners,
         fabric::Directory& directory, transport_channel::ChannelTransport& tcp,
         std::function<void(const TrunkNews&)> tell = nullptr);
  ~Trunks();
  Trunks(const Trunks&) = delete;
  Trunks& operator=(const Trunks&) = delete;

  // Sets the listener. Null: the listener is removed, and the trunks end. A new listener is told of
  // the open channels to `hosts`.
  void set_listener(TrunkListener* listener, const std::vector<verbs::HostId>& hosts, Instant now);

  // ---- The events of the channels over TCP ----
  void on_channel(verbs::HostId host);
  void on_channel_lost(verbs::HostId host, Instant now);
  void on_offer(verbs::HostId host, const wire::TrunkOffer& offer);
  void on_ready(verbs::HostId host, const wire::TrunkReady& ready);

  // Errors: kBadState (the channel over TCP has ended), kIo.
  Status open(Trunk trunk, Instant now);
  // No trunk to that host can be arranged. A trunk that is open ends.
  void set_none(verbs::HostId host, TrunkReport report, Instant now);
  void forget(verbs::HostId host, Instant now);

  transport_channel::ChannelTransport& transport() { return transport_; }
  ChannelTenant& tenant() { return tenant_; }
  const transport_channel::ChannelTransport& transport() const { return transport_; }
  const ChannelTenant& tenant() const { return tenant_; }
  // The transport that leads to the host.
  verbs::Transport& way_to(verbs::HostId host);
  TrunkReport report(verbs::HostId host) const;
  // Why long messages of an adapter to that host are copied; empty: they are not, or there is no
  // trunk.
  std::string why_copied(verbs::AdapterId adapter, verbs::HostId host) const;

 private:
  struct Known {
    std::string device{};
    std::uint32_t port = 1;
    TrunkReport none{};
  };

  void on_open(verbs::HostId host);
  void on_lost(const transport_channel::LostChannel& lost);
  void tell(verbs::HostId host, const std::string& reason);

  fabric::Directory& directory_;
  transport_channel::ChannelTransport& tcp_;
  transport_channel::ChannelTransport transport_;
  ChannelTenant tenant_;
  std::function<void(const TrunkNews&)> tell_;
  TrunkListener* listener_ = nullptr;
  std::map<verbs::HostId, Known> hosts_;
};

}  // namespace paravane::worker
