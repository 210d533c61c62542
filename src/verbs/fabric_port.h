// FabricPort: one adapter's view of the network: which GIDs it may use as its own, and along which
// path another GID is reached. Implemented by fabric/.

#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "verbs/types.h"

namespace paravane::verbs {

class Transport;

enum class AdapterId : std::uint32_t {};
enum class HostId : std::uint32_t {};

// A network that others cannot be reached from: a VLAN of a distributed switch, the same
// number on all hosts; or the switch that each host has built in.
enum class SegmentId : std::uint64_t { kBuiltIn = 0 };

struct Path {
  Transport* transport = nullptr;  // how; outlives every adapter
  AdapterId peer{};                // the peer, for transports that reach adapters of this host
  HostId host{};                   // where, for those that reach other hosts
  SegmentId segment{};             // that both ends are in
};

class FabricPort {
 public:
  virtual ~FabricPort() = default;

  // Errors: kBadState when another adapter owns the GID (the text names it).
  virtual Status announce(const Gid& gid, GidType type) = 0;
  virtual void withdraw(const Gid& gid, GidType type) = 0;

  // nullopt: no adapter has that GID now.
  virtual std::optional<Path> find(const Gid& dgid, GidType type) const = 0;

  // Changes whenever find() may answer differently, so that queue pairs need not
  // ask for each message. 0: unknown, ask each time.
  virtual std::uint64_t epoch() const { return 0; }
};

}  // namespace paravane::verbs
