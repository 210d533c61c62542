// ServiceAdapter is an RDMA adapter of a host service: a customer of the engine beside the guests'
// devices. It has memory of the service (service_memory.h), and lends parts of its payloads to
// peers, each part under a key of its own. A key is good in one protection domain: that of the
// adapter, or one that a connection has for itself. Keys are easy to guess, so peers that may not
// reach what others were lent need domains of their own.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/timers.h"
#include "guestmem/guest_memory.h"
#include "host_verbs/service_memory.h"
#include "verbs/adapter.h"

namespace paravane::host_verbs {

// Knows the Ethernet of native endpoints.
class Neighbours {
 public:
  // The destination's MAC address of packets to the GID. nullopt: it is not known yet, and is
  // asked for.
  virtual std::optional<std::array<std::uint8_t, 6>> mac_of(const verbs::Gid& peer) = 0;

 protected:
  ~Neighbours() = default;
};

class ServiceAdapter {
 public:
  struct Limits {
    std::uint32_t queue_pairs = 80;
    std::uint32_t lent = 4096;  // keys come back after so many others
    // Numbers of queue pairs come after it. A random one, since peers may remember those of the
    // engine before, and take a connection with one of them for stale.
    std::uint32_t queue_pairs_after = 0;
  };

  struct Gids {
    verbs::Gid own{};                  // link-local
    std::optional<verbs::Gid> ipv4{};  // of RoCE v2, for peers that have IPv4 addresses
  };

  // Goes on without the IPv4 address if another adapter owns it: bind_ipv4() tries it again.
  // `memory` and `timers` outlive it. Errors: as ServiceMemory::show_in(), Adapter::create_pd(),
  // Adapter::bind_gid() (another adapter owns the link-local GID).
  static Result<std::unique_ptr<ServiceAdapter>> make(verbs::AdapterId id, const Limits& limits,
                                                      ServiceMemory& memory, TimerQueue& timers,
                                                      std::unique_ptr<verbs::FabricPort> fabric,
                                                      const Gids& gids);
  ServiceAdapter(const ServiceAdapter&) = delete;
  ServiceAdapter& operator=(const ServiceAdapter&) = delete;

  verbs::Adapter& adapter() { return *adapter_; }
  ServiceMemory& memory() { return memory_; }
  verbs::PdNumber pd() const { return pd_; }
  const verbs::Gid& gid() const { return gids_.own; }
  // Errors: kBadState (another adapter owns it; the text names it).
  Status bind_ipv4();
  // Its GID towards a peer.
  const verbs::Gid& gid_towards(const verbs::Gid& peer) const;
  struct Way {
    verbs::AddressVector address{};
    bool has_packets = false;  // the peer is a native endpoint
  };
  // nullopt: the peer is a native endpoint whose MAC address is not known yet.
  std::optional<Way> way_to(const verbs::Gid& peer) const;
  // Asks them for native endpoints from now on; nullptr: no more. They outlive that.
  void use(Neighbours* neighbours) { neighbours_ = neighbours; }
  // Of memory by DMA address; never good for a peer.
  std::uint32_t local_key() const { return local_key_; }

  struct Domain {
    verbs::PdNumber pd{};
    std::uint32_t local_key = 0;  // as local_key(), there
  };
  Domain domain() const { return {.pd = pd_, .local_key = local_key_}; }
  // Another one, with nothing in it. Errors: as Adapter::create_pd().
  Result<Domain> make_domain();
  // All loans in it end. REQUIRES: make_domain() has made it, and no queue pair is in it.
  void end_domain(const Domain& domain);

  // Lends the first `length` bytes of a payload to peers of the adapter's domain, or of another
  // one, until end_loan(). Returns the key. `rights`: kAccessRemoteRead or kAccessRemoteWrite.
  // Errors: as MemoryRegionTable::add_user().
  Result<std::uint32_t> lend(std::uint32_t payload, std::uint32_t length, verbs::AccessMask rights);
  Result<std::uint32_t> lend(std::uint32_t payload, std::uint32_t length, verbs::AccessMask rights,
                             verbs::PdNumber to);
  // The key is good for nothing any more.
  void end_loan(std::uint32_t key);

  // What is called for the events of queue pairs with that tag; empty: they are passed over.
  using OnEvent = std::function<void(verbs::QpEvent)>;
  void on_events(std::uint32_t tag, OnEvent act) { events_.set(tag, std::move(act)); }

 private:
  // Gives the events of queue pairs to whatever asked for those of their tag.
  class EventRouter final : public verbs::QpEvents {
   public:
    void set(std::uint32_t tag, OnEvent act);
    void on_qp_event(std::uint32_t tag, verbs::QpEvent event) override;

   private:
    std::map<std::uint32_t, OnEvent> acts_;
  };

  ServiceAdapter(ServiceMemory& memory, const Gids& gids) : memory_(memory), gids_(gids) {}
  // Of its GID towards a peer, which has the GID of RoCE v2 or of v1. A peer that has neither now
  // gets the former.
  std::uint8_t gid_index(const verbs::Gid& peer) const;

  ServiceMemory& memory_;
  const Gids gids_;
  bool has_ipv4_ = false;
  Neighbours* neighbours_ = nullptr;
  GuestMemory shown_;  // the service's memory, as this adapter has it
  std::unique_ptr<verbs::FabricPort> fabric_;
  EventRouter events_;
  std::unique_ptr<verbs::Adapter> adapter_;
  verbs::PdNumber pd_{};
  std::uint32_t local_key_ = 0;
};

}  // namespace paravane::host_verbs
