// Vmhba is a storage adapter of this host: an adapter of the RDMA engine in a network of VMs, from
// which it finds SRP targets and logs in to them.
//
// It is up while its InfiniBand port is Active. Then it looks for targets among all link-local GIDs
// of its network, of which each adapter has one, and again some times after GIDs there have
// changed, because a target's service begins later than its adapter. Where the port of a target has
// left the network, the login is tried with commands of our own.
//
// Worker thread only. The owner calls pump() while has_work(), and when next_look() has come.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/limited_log.h"
#include "base/timers.h"
#include "connection/communication_manager.h"
#include "connection/device_discovery.h"
#include "fabric/directory.h"
#include "host_verbs/datagram_endpoint.h"
#include "host_verbs/service_adapter.h"
#include "model/storage.h"
#include "neighbour/resolver.h"
#include "storage/target.h"
#include "verbs/fabric_port.h"
#include "worker/port_table.h"

namespace paravane::storage {

// What the control thread wants of a vmhba.
struct VmhbaOrder {
  std::string name{};        // "vmhba32"
  std::uint32_t number = 0;  // 32
  std::uint64_t port_guid = 0;
  std::uint32_t index = 0;  // of the vmhbas of its port, from 0
  verbs::SegmentId segment{};
  bool is_up = false;
  std::uint32_t most_targets = 16;
  std::vector<TargetAddress> named{};  // by an operator
  // For targets that are no VMs of ours.
  std::optional<Ipv4Interface> ipv4{};
  std::optional<std::uint32_t> gateway{};  // host byte order

  friend bool operator==(const VmhbaOrder&, const VmhbaOrder&) = default;
};

// By which an Ethernet would know it: its GID's EUI-64 without the two bytes in the middle.
fabric::MacAddress vmhba_mac(std::uint64_t port_guid, std::uint32_t index);

class Vmhba final : private host_verbs::Neighbours,
                    private connection::DatagramPort,
                    private connection::ConnectionListener,
                    private connection::DiscoveryListener {
 public:
  struct Listener {
    std::function<void(Vmhba&, Target&, const std::vector<UnitFacts>&)> units_found;
    std::function<void(Vmhba&, Target&, const std::string& why)> units_lost;
    std::function<void(Vmhba&, std::uint32_t target)> target_gone;  // its login has ended
    std::function<void()> wake;
  };
  // All outlive it. Errors: as PortTable::join_service(), ServiceAdapter::make(),
  // DatagramEndpoint::make().
  static Result<std::unique_ptr<Vmhba>> make(const VmhbaOrder& order, worker::PortTable& ports,
                                             host_verbs::ServiceMemory& memory, TimerQueue& timers,
                                             Listener listener, Instant now);
  ~Vmhba() override;
  Vmhba(const Vmhba&) = delete;
  Vmhba& operator=(const Vmhba&) = delete;

  const VmhbaOrder& order() const { return order_; }
  // Whether another order is a change of this one, and not another vmhba.
  bool can_change_to(const VmhbaOrder& order) const;
  void change(const VmhbaOrder& order, Instant now);

  // Looks for targets and units anew.
  void rescan(Instant now);
  bool is_scanning() const;
  void look_again(std::uint32_t target);

  bool has_work() const;
  Instant next_look();
  void pump(Instant now, verbs::Budget& budget);

  // By number.
  const std::map<std::uint32_t, std::unique_ptr<Target>>& targets() const { return targets_; }
  std::map<std::string, std::uint64_t> counters() const;
  // By which targets' access lists name it: "0xfe80...".
  std::string initiator_text() const { return srp::to_string(initiator()); }
  // Why some targets cannot be reached; empty: all can.
  std::string problem(Instant now) const;

 private:
  Vmhba(VmhbaOrder order, worker::PortTable& ports, TimerQueue& timers, Listener listener);
  Status begin(host_verbs::ServiceMemory& memory, Instant now);
  void begin_up(Instant now);
  void end_up(Instant now);
  // The GIDs of others there by which targets may be reached.
  std::vector<verbs::Gid> gids_of_network() const;
  // Finds the units of targets anew whose port is not in the network, so that a login that is over
  // ends.
  void try_missing();
  void begin_discovery(Instant now);
  void look_at_network(Instant now);
  void take_named(Instant now);
  void take_ipv4();
  // Whether one more may be added.
  bool make_room(const TargetAddress& address, bool is_named);
  void add_named();
  // False: there are too many.
  bool add_target(const TargetAddress& address, const std::string& description, bool is_named);
  Target* find(connection::ConnectionId id);
  srp::PortId initiator() const;

  // ---- Neighbours ----
  std::optional<std::array<std::uint8_t, 6>> mac_of(const verbs::Gid& peer) override {
    return resolver_.mac_of(peer.raw, now_);
  }
  // ---- DatagramPort ----
  bool send(const wire::infiniband::Gid& to,
            std::span<const std::byte, wire::infiniband::kMadBytes> mad) override;
  // ---- ConnectionListener ----
  void on_reply(connection::ConnectionId id, const connection::Reply& reply) override;
  void on_rejected(connection::ConnectionId id, const connection::Rejection& rejection) override;
  void on_timed_out(connection::ConnectionId id) override;
  void on_disconnected(connection::ConnectionId id, connection::Ending ending) override;
  // ---- DiscoveryListener ----
  void on_service(const connection::SrpService& service) override;
  void on_finished() override {}

  VmhbaOrder order_;
  worker::PortTable& ports_;
  TimerQueue& timers_;
  const Listener listener_;
  verbs::AdapterId id_{};
  neighbour::Resolver resolver_;  // of its RoCE port, if it has one
  std::unique_ptr<host_verbs::ServiceAdapter> adapter_;
  bool has_joined_ = false;
  bool is_attached_ = false;
  std::unique_ptr<host_verbs::DatagramEndpoint> datagrams_;
  std::unique_ptr<connection::CommunicationManager> connections_;
  std::unique_ptr<connection::DeviceDiscovery> discovery_;
  std::map<std::uint32_t, std::unique_ptr<Target>> targets_;
  std::uint32_t next_target_ = 0;
  std::string ipv4_problem_;          // why its address is not used
  std::string problem_;               // why some targets are left out
  std::uint64_t network_epoch_ = 0;   // for which discoveries are planned
  std::vector<Instant> discoveries_;  // planned, the last is the next one
  Instant missing_look_ = kNever;     // planned
  Instant now_{};
  bool is_woken_ = false;
};

}  // namespace paravane::storage
