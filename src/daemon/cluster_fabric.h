// ClusterFabric: connects the cluster with the worker, the thread that serves the VMs. It gives the
// worker the GIDs of every host, and publishes the GIDs of this host to the cluster.
//
// If the operator allows channels (TCP connections) between this host and other hosts,
// ClusterFabric also starts the code that opens channels to the valid members
// (cluster/channel_maker.h). This host then listens on the first free port of the range that
// vSphere uses, and publishes the port. Cables of the InfiniBand subnet are made at the same place,
// to the members that have an InfiniBand adapter, as this host does.
//
// Control thread only. Calls from other threads are passed to the control thread through the
// function `post`.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/limited_log.h"
#include "cluster/away_gids.h"
#include "cluster/channel_maker.h"
#include "cluster/cluster_service.h"
#include "cluster/cluster_watch.h"
#include "cluster/member_channels.h"
#include "host/channels.h"
#include "inventory/view.h"
#include "model/vmkernel.h"
#include "privsep/dialer.h"
#include "settings/cluster_paths.h"
#include "settings/config.h"
#include "worker/port_table.h"
#include "worker/worker.h"

namespace paravane::daemon {

class ClusterFabric final : public host::Channels {
 public:
  struct Parts {
    worker::Worker& worker;
    cluster::ClusterService& cluster;
    privsep::Dialer& dialer;
    // Runs a function on the control thread. May be called by any thread.
    std::function<void(std::function<void()>)> post;
    // Channels may go over this RDMA adapter.
    std::function<void(const host::HcaChoice&)> hca;
    // What the buffers of that adapter lock.
    std::function<model::HcaMemory()> hca_memory;
    // Reports an event of the cluster.
    std::function<void(model::Event)> tell;
    // What becomes of the cables of this host's InfiniBand subnet.
    struct Cables {
      // This host's name, empty outside of a cluster, and the other hosts to which there is one.
      std::function<void(const std::string& self, std::set<std::string> hosts)> set_hosts =
          [](const auto&, const auto&) {};
      std::function<void(const std::shared_ptr<cluster::MadeCable>&)> add = [](const auto&) {};
      // Why there is no line to a host; empty: there is one.
      std::function<void(const std::string& host, const std::string& problem)> set_problem =
          [](const auto&, const auto&) {};
      // Ends the line to a host, or all.
      std::function<void(const std::string& host, const std::string& reason)> cut =
          [](const auto&, const auto&) {};
      std::function<void(const std::string& reason)> cut_all = [](const auto&) {};
    };
    Cables cables{};
  };

  // `ports` is used on the worker's thread only. All arguments outlive this object.
  ClusterFabric(const settings::Config& config, Parts parts, worker::PortTable& ports);

  // The current state of the cluster; null: this host is not in a cluster any more.
  void on_view(std::shared_ptr<const inventory::View> view);
  // This host has a new certificate.
  void on_identity();

  // ---- Channels ----
  void set_site(const host::ChannelSite& site) override;
  void set_hca(const host::HcaChoice& choice) override { parts_.hca(choice); }
  model::HcaMemory hca_memory() const override { return parts_.hca_memory(); }
  model::ChannelPlace place() const override;
  void on_gids(const std::vector<worker::SharedGid>& gids) override;
  void on_channel_lost(const transport_channel::LostChannel& lost) override;
  void on_trunk(const worker::TrunkNews& news) override;
  void tell_again() override;
  // ---- InfinibandCables::Maker ----
  void set_cables(bool has_adapters) override;
  void on_cable_lost(const std::string& host, std::uint64_t number,
                     const std::string& reason) override;

 private:
  void begin(const authority::Identity& self);
  void end();
  void close_channels(const std::string& reason);
  // Tries to listen on this port, and on the following ones if it is in use.
  void listen(std::uint16_t port);
  void on_listener(std::uint16_t port, const Endpoint& at, Result<UniqueFd> socket);
  // Shows the place on this host; false: it is the same as before.
  bool change_place(model::ChannelPlace place);
  void settle(model::ChannelPlace place);  // shows it, and publishes it to the other hosts
  // The reason why there is no channel to a host, if that host or this host has none to any host;
  // empty: both have.
  model::ChannelProblem why_closed(const std::string& name, const inventory::Host& host) const;
  // The reason to show for a missing channel. A reason from why_closed() takes precedence over the
  // way in which the last connection ended.
  model::ChannelProblem explain(const std::string& host, const std::string& problem) const;
  void tell_worker(worker::OtherHosts others);
  std::vector<worker::RemoteHost> hosts_of_view();
  // The same object as before if nothing has changed.
  std::shared_ptr<const worker::OtherHosts::Held> share_held(
      std::vector<cluster::AwayGids::Held> away);
  void tell_maker();
  // Those with an InfiniBand adapter, if this host has one.
  void tell_cables(const std::map<std::string, cluster::ChannelPeer>& peers);
  void end_channels_of_others();
  verbs::HostId id_of(const std::string& host);
  // Empty: no host has had it.
  std::string name_of(verbs::HostId id) const;
  void on_made(const std::shared_ptr<cluster::MadeChannel>& made);
  void on_cable_made(const std::shared_ptr<cluster::MadeCable>& made);
  void on_changed(const std::string& host, const model::ChannelProblem& problem);

  const settings::Config& config_;
  Parts parts_;
  worker::PortTable& ports_;
  std::shared_ptr<const inventory::View> view_;  // shared with the cluster's thread
  std::string self_;
  host::ChannelSite site_;
  model::ChannelPlace place_;
  std::uint64_t attempt_ = 0;  // counts the sites; identifies late responses for old ones
  std::map<std::string, verbs::HostId> ids_;
  cluster::ClusterWatch watch_;
  cluster::AwayGids away_;
  bool recalled_ = false;  // what away_ is to know from before the start
  std::shared_ptr<const worker::OtherHosts::Held> held_;  // last shared with the worker
  cluster::MemberChannels channels_;
  cluster::MemberChannels cables_;
  bool has_cables_ = false;  // this host has an InfiniBand adapter
  std::unique_ptr<cluster::ChannelMaker> maker_;
  // For channels that could not be opened. Used on the worker's thread only.
  std::shared_ptr<LimitedLog> not_opened_ = std::make_shared<LimitedLog>();
};

}  // namespace paravane::daemon
