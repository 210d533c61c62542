// FabricPort is the interface through which one adapter uses the network. It states whether the
// adapter may have a GID and finds the path to another GID. The implementation is in fabric/.

#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "verbs/types.h"

namespace paravane::verbs {

class Transport;

enum class AdapterId : std::uint32_t {};
enum class HostId : std::uint32_t {};

// The number of a network; adapters in different networks cannot reach each other, but through a
// router as native endpoints. It stands for a VLAN of a distributed switch, with the same number on
// all hosts, or for the built-in switch of a host.
enum class SegmentId : std::uint64_t { kBuiltIn = 0 };

struct Path {
  Transport* transport = nullptr;  // how; outlives every adapter
  AdapterId peer{};                // the peer, for transports that reach adapters of this host
  HostId host{};                   // where, for those that reach other hosts
  SegmentId segment{};             // that both ends are in, or this end where a router is between
  bool one_hop = false;            // packets on it must not get through a router
  // It leads through a router to an adapter of the cluster in another network. Whether the router
  // lets the packets through is for the transport to find out.
  bool routed = false;
};

class FabricPort {
 public:
  virtual ~FabricPort() = default;

  // Errors: kBadState when another adapter owns the GID (the text names it).
  virtual Status announce(const Gid& gid, GidType type) = 0;
  virtual void withdraw(const Gid& gid, GidType type) = 0;

  // nullopt: no adapter has that GID now.
  virtual std::optional<Path> find(const Gid& dgid, GidType type) const = 0;

  // A number that changes whenever the result of find() may have changed, so that queue pairs need
  // not call find() for each message. 0: unknown; call find() each time.
  virtual std::uint64_t epoch() const { return 0; }

  // Whether the GIDs of other hosts are being learnt, so that one without a path may have one soon.
  // Requests wait for it and spend no retry. The implementation bounds the time.
  virtual bool is_learning() const { return false; }
};

}  // namespace paravane::verbs
