// PortTable holds the adapters of the VMs on one worker, and the objects that they share. These are
// the transports, and the directory that records which adapter has which GID.
//
// Worker thread only, including construction and destruction.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_signal.h"
#include "base/limited_log.h"
#include "base/unique_fd.h"
#include "fabric/directory.h"
#include "model/adapter_name.h"
#include "model/stats.h"
#include "model/vm.h"
#include "transport/channel/channel_transport.h"
#include "transport/local/local_transport.h"
#include "worker/adapter_counts.h"
#include "worker/captures.h"
#include "worker/channel_tenant.h"
#include "worker/gid_reporter.h"
#include "worker/impairments.h"
#include "worker/leaving_ports.h"
#include "worker/mapping_ender.h"
#include "worker/network_rules.h"
#include "worker/path_reasons.h"
#include "worker/port_parcel.h"
#include "worker/roce_tenant.h"
#include "worker/service_ports.h"
#include "worker/transport_tenant.h"
#include "worker/trunks.h"
#include "worker/vm_port.h"
#include "worker/worker.h"

namespace paravane::worker {

// The current state of one adapter.
struct PortState {
  model::VmState state = model::VmState::kDetached;
  int pid = 0;
};

// A GID of an adapter of this host, which other hosts must know.
struct SharedGid {
  model::AdapterName adapter;
  verbs::SegmentId segment{};
  verbs::Gid gid;
  verbs::GidType type{};
  bool linked = true;  // false: the adapter's link is down, so they cannot reach it
};

// Another host of the cluster, and the GIDs of its adapters.
struct RemoteHost {
  verbs::HostId id{};
  std::string name;
  std::vector<fabric::Directory::RemoteGid> gids;
  bool lacks_probe = false;  // its release answers no probes of routers
};

// All that is known of the other hosts and their GIDs. It is one value, because a GID that is in
// neither list for a moment would count as a native endpoint's in that moment.
struct OtherHosts {
  using Held = std::vector<fabric::Directory::HeldGid>;
  // False: this host is in a cluster, and does not know the GIDs of the others yet.
  bool known = true;
  std::vector<RemoteHost> hosts{};
  // The GIDs that are never a native endpoint's although no adapter with them can be reached; null:
  // none. The same object again means that nothing of it has changed.
  std::shared_ptr<const Held> held{};
};

// A trunk to another host that is open.
struct OpenTrunk {
  std::string host{};    // its name
  std::string device{};  // the RDMA adapter of this host that it goes over
  std::uint32_t port = 1;
};

// What another host has answered to PortTable::hold_peers().
struct HeldPeer {
  std::string host{};  // its name
  transport_channel::PeerHold::Answer answer{};
};

struct QpSlice;

// These functions are called on the worker's thread and must not block.
struct PortEvents {
  std::function<void(std::vector<SharedGid>)> gids_changed{};
  std::function<void(const transport_channel::LostChannel&)> channel_lost{};
  std::function<void(const TrunkNews&)> trunk{};
  std::function<void(model::Event)> tell{};
  // Another program has deleted the interface of an adapter's RoCE port, which is closed now.
  std::function<void(const model::AdapterName&)> roce_lost{};
};

// A RoCE port's descriptor, as transport_roce::TapDoor takes it.
struct RoceTap {
  UniqueFd tap;
  bool takes_superframes = false;
  std::uint32_t mtu = 1500;  // of the network, in bytes
};

class PortTable final : private transport_channel::LocalOwners {
 public:
  // `incarnation`: of this daemon; random, not 0. `roce_class`: the traffic class of packets to
  // native RoCE endpoints whose connection names none.
  PortTable(Worker& worker, std::uint64_t incarnation, PortEvents events,
            std::uint8_t roce_class = 0);
  ~PortTable() override;
  PortTable(const PortTable&) = delete;
  PortTable& operator=(const PortTable&) = delete;

  // Errors: as VmPort::create(); kBadState (the name is there); kResourceExhausted.
  Status add(const VmPortConfig& config);

  // False: a VMM is attached to one of them and `force` is not set; nothing
  // happened. A name that is not there is no error.
  bool remove(const std::vector<model::AdapterName>& names, bool force);

  // ---- The engine is replaced while VMs run ----
  // Saves every adapter for the engine that takes over. The adapters stay as they are, and go on if
  // they get turns again; until then, nothing may change them. Errors: as VmPort::save(); the
  // message names the adapter.
  Result<std::vector<PortParcel>> save_ports();
  // Adds an adapter that another engine has saved, with its VMM and its guest's objects. It gets
  // turns like every port. Errors: as add(); kInvalidArgument (the saved state is refused).
  Status adopt(const VmPortConfig& config, PortParcel parcel);

  // Has `keeper` keep every adapter from now on, for the engine that goes on if this one is killed;
  // it outlives us. REQUIRES: there are no adapters yet.
  void keep_by(PortKeeper& keeper) { keeper_ = &keeper; }
  // Has it keep all of them now.
  void keep_all();

  // A name that is not there is no error.
  void set_connected(const model::AdapterName& name, bool connected);
  // Sets the rules of all adapters, including later ones. Running VMs keep their rules until their
  // next start.
  void set_rules(const device::DeviceRules& rules);
  // A name that is not there is no error.
  void set_segment(const model::AdapterName& name, verbs::SegmentId segment);

  // ---- Native RoCE endpoints ---- Lets the adapter reach them through its RoCE port; one of a
  // service may come later. Errors: kNotFound (no such adapter), kIo.
  Status open_roce(const model::AdapterName& name, RoceTap tap);
  // A name that is not there, or that has no port, is no error.
  void close_roce(const model::AdapterName& name);
  // Sets why adapters reach no native endpoints, for those that do not. An empty text says that
  // open_roce() is about to be called. Replaces all texts, also for adapters that are added later.
  void set_roce_closed(std::map<model::AdapterName, std::string> why);
  void set_networks(NetworkRules rules) { directory_.set_networks(std::move(rules)); }

  // ---- Other hosts ---- Replaces all that is known of the other hosts. The channels to hosts that
  // are no longer there are closed. Until it returns, and if it runs out of memory, no GID counts
  // as a native endpoint's.
  void set_others(const OtherHosts& others);
  // Closes the channels to all hosts. The hosts stay in the list.
  void close_channels(const std::string& reason);
  // Closes the channel to one host. An unknown host is not an error.
  void close_channel(verbs::HostId host, const std::string& reason);
  // Sets the reason why there is no channel to a host. An unknown host is not an error.
  void set_channel_problem(verbs::HostId host, const std::string& problem);
  // Errors: kIo.
  Status open_channel(const transport_channel::ChannelConfig& config,
                      std::unique_ptr<transport_channel::Stream> stream);

  // ---- The engine is replaced: other hosts ----
  // Asks each host with an open channel to wait for this one for so long; zero: not any more.
  void hold_peers(Duration time) { tcp_.hold_peers(time); }
  std::vector<HeldPeer> held_peers() const;
  // This engine has taken over, and no port has had a turn yet.
  void begin();
  // Requests to other hosts wait for their channels, and for GIDs that
  // are not known yet, for so long at most.
  void await_others(Duration time);

  // ---- Trunks, the channels over RDMA adapters ---- Null: no trunks are arranged.
  void set_trunk_listener(TrunkListener* listener);
  // Sends a frame in the channel over TCP to that host, if it is open.
  void send_trunk_offer(verbs::HostId host, const wire::TrunkOffer& offer) {
    tcp_.send_trunk_offer(host, offer);
  }
  void send_trunk_ready(verbs::HostId host, const wire::TrunkReady& ready) {
    tcp_.send_trunk_ready(host, ready);
  }
  // Errors: as Trunks::open().
  Status open_trunk(Trunk trunk);
  // No trunk to that host can be arranged. A trunk that is open ends.
  void set_no_trunk(verbs::HostId host, TrunkReport why);
  // The open trunks, in the order of the hosts' names.
  std::vector<OpenTrunk> open_trunks() const;

  // ---- Adapters of host services ----
  // A place in the network for an adapter that is no VM's, under a name with the number 0, which
  // no VM's adapter has. `own`: its GID, which no other adapter there has then.
  // It reaches others, and is reached, from attach_service() on; native endpoints through a port
  // that open_roce() gives it.
  struct ServicePlace {
    verbs::AdapterId id{};
    std::unique_ptr<verbs::FabricPort> fabric;
  };
  // Errors: kBadState (the name is there), kResourceExhausted.
  Result<ServicePlace> join_service(const model::AdapterName& name, const verbs::Gid& own,
                                    verbs::SegmentId segment);
  // `resolver`: as ServicePorts::attach() takes it. REQUIRES: the adapter has a place, and no place
  // of a service outlives the table.
  void attach_service(verbs::Adapter& adapter, neighbour::Resolver* resolver = nullptr);
  void detach_service(verbs::Adapter& adapter);
  // Its place and its adapter are gone.
  void forget_service(verbs::AdapterId id);

  Impairments& impairments() { return impairments_; }
  fabric::Directory& directory() { return directory_; }

  // Starts the capture of those of its adapters that exist. If there are none, the capture has
  // ended. `adapters`: in the order of its interfaces.
  void start_capture(const std::shared_ptr<capture::Capture>& capture,
                     const std::vector<model::AdapterName>& adapters);
  Captures& captures() { return captures_; }

  std::map<model::AdapterName, PortState> states() const;
  // nullopt: no such adapter.
  std::optional<model::VmStats> stats(const model::AdapterName& name) const;
  std::vector<model::CounterGroup> shared_stats() const;

  // ---- For metrics ----
  // nullopt: no such adapter.
  std::optional<AdapterMetrics> metrics(const model::AdapterName& name) const;
  // Queue pairs from the handle `first` on; empty if the adapter does not exist.
  QpSlice queue_pairs(const model::AdapterName& name, std::uint32_t first) const;
  std::vector<MetricGroup> shared_metrics() const;

 private:
  // `inherited`: null, or what the port takes over.
  Status add(const VmPortConfig& config, PortParcel* inherited);
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                             verbs::GidType type) const override {
    return directory_.find_local(segment, gid, type);
  }
  struct KnownHost {
    std::string name;
    std::string problem;  // of its channel, the last
    bool lacks_probe = false;
  };
  void set_hosts(const std::vector<RemoteHost>& hosts);
  void report_gids() const;
  void on_lost(const transport_channel::LostChannel& lost);
  void on_hold(const transport_channel::HoldNews& news);
  HostReport report_host(verbs::HostId id) const;
  PortWatch::WayName name_way(const verbs::PathUse::Way& way) const;
  std::string why_not_roce(verbs::AdapterId id) const;
  std::vector<PortWatch::ProbedWay> probed_ways(const model::AdapterName& name) const;
  // nullptr: there is none.
  VmPort* find_port(verbs::AdapterId id) const;
  std::string vm_of(verbs::AdapterId id) const;
  std::optional<verbs::AdapterId> pick_id();
  void remove_one(VmPort& port);

  Worker& worker_;
  PortKeeper* keeper_ = nullptr;
  transport_local::LocalTransport local_;
  transport_roce::RoceTransport roce_;
  fabric::Directory directory_;
  PortEvents events_;
  PortWatch::Speech speech_;
  transport_channel::Holds holds_{
      [this](const transport_channel::HoldNews& news) { on_hold(news); }};
  transport_channel::ChannelTransport tcp_;
  Trunks trunks_;
  EventSignal event_signal_;
  MappingEnder mapping_ender_;
  TransportTenant local_tenant_;
  RoceTenant roce_tenant_;
  ChannelTenant tcp_tenant_;
  Impairments impairments_;
  Captures captures_;
  GidReporter gid_reporter_;
  std::map<verbs::HostId, KnownHost> hosts_;
  std::shared_ptr<const OtherHosts::Held> held_;  // that the directory has
  std::map<model::AdapterName, std::string> roce_closed_;
  PathReasons reasons_{
      directory_,
      {.host = [this](verbs::HostId id) { return report_host(id); },
       .roce = [this](verbs::AdapterId id) { return why_not_roce(id); },
       .probe =
           [this](verbs::AdapterId id, const device::QueuePairView& qp) {
             const VmPort* port = find_port(id);
             return port != nullptr ? port->probe_of(qp.number) : transport_roce::ProbeReport{};
           },
       .copies = [this](verbs::AdapterId id,
                        verbs::HostId host) { return trunks_.why_copied(id, host); }}};
  device::DeviceRules rules_;
  std::map<model::AdapterName, std::unique_ptr<VmPort>> ports_;
  ServicePorts services_;
  std::vector<bool> ids_used_;
  std::size_t next_id_ = 0;
  LeavingPorts leaving_;
  LimitedLog removals_;
  LimitedLog told_holds_;
};

}  // namespace paravane::worker
