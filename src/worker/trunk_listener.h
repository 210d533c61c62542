// TrunkListener receives the events of the channels over TCP that concern trunks. A trunk is a
// channel over RDMA adapters. The listener arranges trunks and gives them to the worker.
//
// Called on the worker's thread. No call may block.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/channel/stream.h"
#include "verbs/fabric_port.h"
#include "wire/trunk_frames.h"

namespace paravane::worker {

class TrunkListener {
 public:
  virtual ~TrunkListener() = default;
  // A channel is open. `leads`: this host makes the offers (wire/trunk_frames.h).
  virtual void on_channel(verbs::HostId host, bool leads) = 0;
  virtual void on_channel_lost(verbs::HostId host) = 0;
  // The frames of a channel's peer, which can send any number of them.
  virtual void on_trunk_offer(verbs::HostId host, const wire::TrunkOffer& offer) = 0;
  virtual void on_trunk_ready(verbs::HostId host, const wire::TrunkReady& ready) = 0;
  // A trunk that was given to the worker has ended.
  virtual void on_trunk_lost(verbs::HostId host, std::uint64_t number,
                             const std::string& reason) = 0;
};

// A trunk that is given to the worker.
struct Trunk {
  verbs::HostId host{};
  std::uint64_t number = 0;  // its maker's
  std::string device{};      // the RDMA adapter
  std::uint32_t port = 1;    // of the adapter
  wire::TrunkNonce own{};    // of the offers
  wire::TrunkNonce peer{};
  std::unique_ptr<transport_channel::Stream> stream{};
};

}  // namespace paravane::worker
