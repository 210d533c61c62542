// Host owns and connects the objects of one daemon: the store, the worker with its adapters, and
// the code that answers an operator's requests. When a request fails halfway, Host makes the store
// and the worker consistent again.
//
// Control thread only. Requests to the worker block this thread for a bounded time.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/event_log.h"
#include "base/instant.h"
#include "capture/capture.h"
#include "cluster/cluster_service.h"
#include "host/change_log.h"
#include "host/channels.h"
#include "host/directory_lock.h"
#include "host/host_network.h"
#include "host/host_storage.h"
#include "host/host_vmkernel.h"
#include "host/inheritance.h"
#include "host/kept_estate.h"
#include "host/machine_view.h"
#include "host/network_watch.h"
#include "host/uplink_rules.h"
#include "metrics/metrics_snapshot.h"
#include "metrics/qp_series.h"
#include "model/adapter_name.h"
#include "model/management.h"
#include "model/upgrade.h"
#include "privsep/heir_facts.h"
#include "privsep/roce_port_note.h"
#include "privsep/uplink_note.h"
#include "settings/config.h"
#include "store/store.h"
#include "subnet_host/host_infiniband.h"
#include "worker/port_table.h"
#include "worker/worker.h"

namespace paravane::host {

struct HostConfig {
  settings::Config config;
  std::string config_file;                    // for status; empty: none
  KeptEstate* kept = nullptr;                 // outlives the host; null: nothing is kept
  std::optional<gid_t> vm_socket_group;       // resolved from config.vfio_user.group
  std::optional<gid_t> umad_group;            // from config.infiniband.group
  privsep::SwitchMaker* switches = nullptr;   // of the host; outlives the Host; null: none
  privsep::MachineLooker* machine = nullptr;  // outlives the Host; null: devices are not read
  // With a cluster: how other threads reach the control thread.
  std::function<void(std::function<void()>)> post;
  cluster::ClusterService* cluster = nullptr;  // outlives the host; null: there are no other hosts
  api::EventLog* events = nullptr;             // outlives the host; null: no events
  // Asks for an upgrade, or for a check whether one is possible. False: it cannot be asked for.
  std::function<bool(bool only_check)> on_upgrade{};
};

// What this program says when it is to take over from another engine.
privsep::HeirFacts own_facts();
// Whether a program can take over from this one. Errors: kUnsupported, with the remedy.
Status check_heir(const privsep::HeirFacts& heir);

class Host final : public model::Management, public metrics::MetricsSource {
 public:
  // Locks the state directory and creates the adapters of all VMs in the store. A VM whose socket
  // cannot be created is kept as failed. Damaged records of the store are not used; status() lists
  // them. `on_stop` is called when an operator has requested the daemon to stop. Errors: kStore,
  // kNoSpace (the state), kInternal.
  static model::ApiResult<std::unique_ptr<Host>> start(HostConfig config,
                                                       std::function<void()> on_stop);
  // Takes over from another engine that still runs: adopts the adapters that it left, and takes its
  // locks. Nothing is changed before begin(): no guest is served, and nothing is written or asked
  // for. Errors: as start().
  static model::ApiResult<std::unique_ptr<Host>> take_over(HostConfig config,
                                                           Inheritance inheritance,
                                                           std::function<void()> on_stop);
  // The other engine has ended. Call it once, after take_over().
  void begin();
  // Has everything kept anew that belongs to the host. REQUIRES: HostConfig::kept.
  void keep_all();
  ~Host() override;

  // ---- Handing over to another engine ----
  // Asks the other hosts to wait for this one, for `time` at most; zero: not any more. held_peers()
  // is what they have answered so far; empty also if the worker does not respond.
  void hold_peers(Duration time);
  std::vector<worker::HeldPeer> held_peers();
  // Stops the worker where it is and saves all adapters. Errors: as PortTable::save_ports(); kIo
  // (the worker did not respond). thaw() follows in any case, unless the process ends.
  Result<std::vector<worker::PortParcel>> freeze();
  void thaw();
  // The same for the InfiniBand subnet, as bytes for its parcel; empty: there is nothing to hand
  // over. Waits half a second at most.
  std::vector<std::byte> freeze_subnet();
  // Each with the name of its parcel; the files stay ours.
  std::vector<std::pair<std::string, int>> locks() const;
  void set_upgrade(model::UpgradeStatus status) { upgrade_ = std::move(status); }
  void set_keeper(model::KeeperStatus status) { keeper_ = std::move(status); }

  // ---- Management ----
  model::ApiResult<model::VmStatus> add_vm(const model::VmSpec& spec) override;
  model::ApiResult<void> remove_vm(const std::string& name, bool force) override;
  model::ApiResult<model::VmStatus> set_vm(const std::string& name,
                                           const model::VmChange& change) override;
  model::ApiResult<model::VmStatus> add_adapter(const std::string& name,
                                                const model::AdapterRequest& request) override;
  model::ApiResult<model::VmStatus> remove_adapter(const std::string& name, std::uint32_t number,
                                                   bool force) override;
  model::ApiResult<model::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                  bool connected) override;
  model::ApiResult<std::vector<model::VmStatus>> list_vms() override;
  model::ApiResult<model::VmStatus> find_vm(const std::string& name) override;
  model::ApiResult<model::DaemonStatus> status() override;
  model::ApiResult<model::Stats> stats(const std::optional<std::string>& vm) override;
  model::ApiResult<void> stop(bool force) override;
  model::ApiResult<void> upgrade(bool only_check) override;

  // ---- MetricsSource ----
  model::ApiResult<std::shared_ptr<const metrics::MetricsSnapshot>> metrics() override;

  // ---- ImpairmentManagement ----
  model::ApiResult<model::ImpairmentStatus> set_impairment(
      const model::Impairment& impairment) override;
  model::ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override;
  model::ApiResult<std::vector<model::ImpairmentStatus>> list_impairments() override;

  // ---- MachineManagement ----
  model::ApiResult<std::vector<model::PhysicalNic>> list_nics() override;
  model::ApiResult<model::NicDcb> nic_dcb(const std::string& nic) override;
  model::ApiResult<std::vector<model::RdmaDevice>> list_rdma_devices() override;
  model::ApiResult<model::RdmaStats> rdma_device_stats(const std::string& name) override;

  // ---- CaptureManagement ----
  model::ApiResult<model::CaptureStatus> start_capture(const model::CaptureSpec& spec) override;
  model::ApiResult<model::CapturePackets> read_capture(std::uint64_t id) override;
  model::ApiResult<model::CaptureStatus> end_capture(std::uint64_t id) override;
  model::ApiResult<std::vector<model::CaptureStatus>> list_captures() override;

  // ---- NetworkManagement ----
  model::ApiResult<model::SwitchStatus> create_switch(
      const model::DistributedSwitch& vds) override {
    return network_->create_switch(vds);
  }
  model::ApiResult<model::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                       std::uint32_t mtu) override {
    return network_->set_switch_mtu(vds, mtu);
  }
  model::ApiResult<void> delete_switch(const std::string& vds) override {
    return network_->delete_switch(vds);
  }
  model::ApiResult<model::SwitchStatus> add_switch_host(const std::string& vds,
                                                        const model::SwitchHost& host) override {
    return network_->add_switch_host(vds, host);
  }
  model::ApiResult<model::SwitchStatus> set_switch_uplink(const std::string& vds,
                                                          const model::SwitchHost& host) override {
    return network_->set_switch_uplink(vds, host);
  }
  model::ApiResult<model::SwitchStatus> remove_switch_host(const std::string& vds,
                                                           const std::string& host) override {
    return network_->remove_switch_host(vds, host);
  }
  model::ApiResult<std::vector<model::SwitchStatus>> list_switches() override {
    return network_->list_switches();
  }
  model::ApiResult<model::SwitchStatus> find_switch(const std::string& name) override {
    return network_->find_switch(name);
  }
  model::ApiResult<model::SwitchRepair> repair_switches() override {
    return network_->repair_switches();
  }
  model::ApiResult<model::PortGroupStatus> create_port_group(
      const model::PortGroup& group) override {
    return network_->create_port_group(group);
  }
  model::ApiResult<model::PortGroupStatus> change_port_group(
      const std::string& name, const model::PortGroupChange& change) override {
    return network_->change_port_group(name, change);
  }
  model::ApiResult<void> delete_port_group(const std::string& name) override {
    return network_->delete_port_group(name);
  }
  model::ApiResult<std::vector<model::PortGroupStatus>> list_port_groups() override {
    return network_->list_port_groups();
  }
  model::ApiResult<model::PortGroupStatus> find_port_group(const std::string& name) override {
    return network_->find_port_group(name);
  }

  // ---- InfinibandManagement ----
  model::ApiResult<std::vector<model::IbAdapterStatus>> list_ib_adapters() override {
    return infiniband_->list_ib_adapters();
  }
  model::ApiResult<model::IbAdapterStatus> add_ib_adapter(
      const model::IbAdapter& adapter) override {
    return infiniband_->add_ib_adapter(adapter);
  }
  model::ApiResult<void> remove_ib_adapter(const std::string& name) override {
    return infiniband_->remove_ib_adapter(name);
  }
  model::ApiResult<std::vector<model::IbUplink>> list_ib_uplinks() override {
    return infiniband_->list_ib_uplinks();
  }
  model::ApiResult<model::IbFabric> ib_fabric() override { return infiniband_->ib_fabric(); }
  model::ApiResult<std::vector<model::IbManager>> list_ib_managers() override {
    return infiniband_->list_ib_managers();
  }
  model::ApiResult<void> add_ib_manager(const std::string& host) override {
    return infiniband_->add_ib_manager(host);
  }
  model::ApiResult<void> remove_ib_manager(const std::string& host) override {
    return infiniband_->remove_ib_manager(host);
  }
  model::ApiResult<std::vector<model::IbModuleStatus>> list_ib_modules() override {
    return infiniband_->list_ib_modules();
  }
  model::ApiResult<model::IbModuleStatus> change_ib_module(
      const std::string& name, const model::IbModuleChange& change) override {
    return infiniband_->change_ib_module(name, change);
  }
  model::ApiResult<void> restart_infiniband() override { return infiniband_->restart_infiniband(); }

  // ---- StorageManagement ----
  model::ApiResult<std::vector<model::Vmhba>> list_vmhbas() override {
    return storage_->list_vmhbas();
  }
  model::ApiResult<model::Vmhba> set_vmhba(const std::string& name,
                                           const model::VmhbaSetting& setting) override {
    return storage_->set_vmhba(name, setting);
  }
  model::ApiResult<void> rescan(const std::optional<std::string>& vmhba) override {
    return storage_->rescan(vmhba);
  }
  model::ApiResult<std::vector<model::SrpTargetStatus>> list_srp_targets() override {
    return storage_->list_srp_targets();
  }
  model::ApiResult<void> add_srp_target(const model::SrpTarget& target) override {
    return storage_->add_srp_target(target);
  }
  model::ApiResult<void> remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                           bool force) override {
    return storage_->remove_srp_target(vmhba, number, force);
  }
  model::ApiResult<std::vector<model::ScsiDevice>> list_scsi_devices() override {
    return storage_->list_scsi_devices();
  }
  model::ApiResult<std::vector<model::LunPath>> list_lun_paths() override {
    return storage_->list_lun_paths();
  }

  model::ApiResult<bool> is_scanning(const std::optional<std::string>& vmhba) override {
    return storage_->is_scanning(vmhba);
  }

  // ---- VmkernelManagement ----
  model::ApiResult<model::VmkernelConfiguration> vmkernel_configuration() override {
    return vmkernel_->vmkernel_configuration();
  }
  model::ApiResult<model::VmknicStatus> add_vmknic(const model::Vmknic& vmknic) override {
    return vmkernel_->add_vmknic(vmknic);
  }
  model::ApiResult<model::VmknicStatus> set_vmknic(const std::string& name,
                                                   const model::VmknicChange& change) override {
    return vmkernel_->set_vmknic(name, change);
  }
  model::ApiResult<void> remove_vmknic(const std::string& name) override {
    return vmkernel_->remove_vmknic(name);
  }
  model::ApiResult<void> set_setting(const model::SettingValue& setting) override {
    return vmkernel_->set_setting(setting);
  }
  model::ApiResult<void> set_ruleset(const model::FirewallRuleset& ruleset) override {
    return vmkernel_->set_ruleset(ruleset);
  }

  // Names of the VMs of which a VMM is connected to at least one adapter, in order. Also empty when
  // the worker does not answer.
  std::vector<std::string> attached_vms();

  // The keeper has checked the switches on this host without a request, and reports their state and
  // what it repaired.
  void on_switch_news(privsep::SwitchLine::News news) { network_->on_news(std::move(news)); }

  // The keeper has opened the RoCE port of an adapter, so the adapter can reach native endpoints.
  void open_roce(const privsep::RocePortNote& port, UniqueFd tap);

  // The keeper has opened a tap of an IPoIB uplink, which a switch of this host has.
  void open_uplink(const privsep::UplinkNote& note, UniqueFd tap);

  // ---- What the cluster tells ---- The cluster's state has changed; null: this host is not in a
  // cluster, or does not know its state yet. REQUIRES: a ClusterService.
  void on_view(const std::shared_ptr<const inventory::View>& view);
  // As HostNetwork's: in a cluster its switches are changed this way alone.
  model::ApiResult<std::optional<NetworkChange>> draft_network_change(
      const std::function<model::ApiResult<void>(model::NetworkManagement&)>& act) const {
    return network_->draft(act);
  }
  bool has_seen(const NetworkChange& change) const { return network_->has_seen(change); }

  // ---- Channels to other hosts ---- From now on, `channels` is told its address, the GIDs of this
  // host's guests, and which channels were lost; null: nothing is told any more.
  void set_channels(Channels* channels);
  subnet_host::InfinibandCables& cables() { return infiniband_->cables(); }
  // Tells it which RDMA adapter channels may go over. Blocks while the host's devices are read.
  void look_for_hca();
  worker::Worker& worker() { return *worker_; }
  // Used on the worker's thread alone.
  worker::PortTable& ports() { return *ports_; }

  std::size_t vm_count() const { return vms_.size(); }

  // ---- After something broke off for want of memory ----
  // A request, or a message to the worker; any thread.
  void unsettle() { unsettled_ = true; }
  bool is_unsettled() const { return unsettled_; }
  // Makes VMs and adapters match the store again. Does nothing if no operation was interrupted. If
  // it fails (still no memory, or the worker does not answer), the next call tries again.
  void settle();

 private:
  struct Vm {
    model::VmSpec spec;
    std::map<std::uint32_t, std::string> problems;  // by adapter; none: its port is there
  };
  using States = std::map<model::AdapterName, worker::PortState>;

  Host(HostConfig config, std::function<void()> on_stop);
  // Everything but the VMs.
  model::ApiResult<void> build();
  // With their settings.
  std::vector<std::pair<std::filesystem::path, std::string>> own_directories() const;
  model::ApiResult<void> lock_directories();
  model::ApiResult<void> inherit_directories();
  // Empty: the engine before left none, or it is not read.
  std::vector<std::byte> inherited_subnet();
  model::ApiResult<void> adopt_vms();
  void keep_locks() const;
  model::ApiResult<void> adopt_port(const model::VmSpec& spec, const model::AdapterSpec& adapter);
  model::ApiResult<void> take_up_port(const model::VmSpec& spec, const model::AdapterSpec& adapter);
  model::ApiResult<void> adopt_parcel(const model::VmSpec& spec, const model::AdapterSpec& adapter,
                                      worker::PortParcel inherited);
  model::ApiResult<void> open_store();
  model::ApiResult<void> open_machine();
  model::ApiResult<void> open_network();
  std::vector<std::string> attached_in(const std::string& vds);
  model::ApiResult<void> open_vmkernel();
  model::ApiResult<void> open_infiniband();
  model::ApiResult<void> open_storage();
  std::vector<model::VmSpec> specs() const;
  // Whether the VM may have its LUNs. Errors: kInUse.
  model::ApiResult<void> check_luns(const model::VmSpec& spec) const;
  void tell_rules();  // sends the worker the rules for adapters from the settings
  worker::PortEvents port_events();
  void on_lost();
  // check_cluster() and check_mac() check that the cluster permits a change; tell_cluster()
  // publishes it.
  model::ApiResult<void> check_cluster() const;
  model::ApiResult<void> check_mac(const model::MacAddress& mac) const;
  void tell_cluster() const;
  void tell(model::Event event) const;
  void tell_vm(const char* type, const std::string& vm, std::string text) const;
  void tell_adapter(const char* type, const model::AdapterName& adapter,
                    std::string_view what) const;
  // Reports what has changed in a VM, and which of its adapters moved.
  void tell_changed(const model::VmSpec& before, const model::VmSpec& after) const;
  // Reports each adapter whose port group has changed.
  void tell_moved(const model::VmSpec& before, const model::VmSpec& after) const;
  void tell_failed(const model::AdapterName& adapter, const std::string& reason) const;
  void tell_network(const model::Network& network);
  model::ApiResult<metrics::MetricsSnapshot> gather_metrics(Instant now);
  void gather_subnet(metrics::MetricsSnapshot& snapshot);
  model::ApiResult<std::optional<worker::AdapterMetrics>> gather_adapter(
      const model::AdapterName& port, Instant now);
  std::set<std::string> members() const;
  model::ApiResult<void> restore_vms();
  // For damaged records in the store.
  model::ApiResult<void> choose_anew(const std::string& kind);
  void tell_left_out() const;
  std::vector<model::LeftOut> left_out() const;
  model::ApiResult<void> remove_left_out_vm(const std::string& name);
  PortUse port_use(const model::VmSpec& spec, const model::AdapterSpec& adapter) const;
  std::vector<PortUse> port_uses() const;
  model::RoceStatus roce_status(const PortUse& use) const;
  // Whether a storage adapter in the port group can have an IPv4 address. Errors: kNotFound,
  // kInvalidRequest.
  model::ApiResult<void> check_vmhba_ipv4(const std::string& port_group);
  // The worker has a port that was opened for it, or could not take it.
  void on_roce_opened(const privsep::RocePortNote& port, const Status& opened);
  // Another program has deleted the port.
  void on_roce_lost(const model::AdapterName& adapter);
  // These are not wanted any more.
  void close_roce(const std::vector<model::AdapterName>& adapters);
  // The next plan asks for the port again, although nothing else changed.
  void forget_roce(const model::AdapterName& adapter);
  subnet_host::HostInfinibandConfig::Use use_of_uplink(const std::string& uplink) const;
  std::vector<privsep::SwitchPlan::IpoibUplink> ipoib_uplinks() const;
  // nullopt: all of its taps.
  void close_uplink(const std::string& uplink, std::optional<std::uint32_t> vlan);
  // Its taps are of no use any more: the next plan asks for others.
  void on_uplink_lost(const std::string& uplink);
  // Tells the worker why adapters reach no native endpoints, where that has changed.
  void tell_roce_closed();
  void tell_network_rules(const model::Network& network);
  std::uint32_t makings_of(const model::AdapterName& adapter) const;
  model::ApiResult<void> check_port_groups(const model::VmSpec& spec) const;
  model::ApiResult<model::VmStatus> move_adapters(Vm& vm, const model::VmSpec& moved);
  model::ApiResult<void> make_port(const model::VmSpec& spec, const model::AdapterSpec& adapter);
  // Creates all ports of the VM, or none.
  model::ApiResult<void> make_ports(const model::VmSpec& spec);
  // False: a VMM is attached to one of them and `force` is not set; nothing was changed. Errors:
  // kBusy; then none was removed.
  model::ApiResult<bool> remove_ports(std::vector<model::AdapterName> names, bool force);
  // Removes the ports of a change that was not stored. If the worker is stuck, it does this before
  // all later requests.
  void take_back_ports(std::vector<model::AdapterName> names);
  // Restores a port as it was before a change that was not stored; in order with the above.
  void put_back_port(const model::VmSpec& spec, const model::AdapterSpec& adapter);
  worker::VmPortConfig port_config(const model::VmSpec& spec,
                                   const model::AdapterSpec& adapter) const;
  std::vector<model::AdapterName> ports_to_remove(const std::map<std::string, Vm>& kept,
                                                  const States& there) const;
  bool make_missing_ports(const States& there);
  void drop_old_captures();
  // Call it when the VM was removed.
  void forget_impairments(const std::string& vm);
  // Restores the VM's ports after a change that failed.
  void bring_back(Vm& vm);
  static bool is_attached(const model::VmSpec& spec, const States& states);
  std::unexpected<model::ApiError> no_such_vm(const std::string& name) const;
  model::ApiResult<void> write(const model::VmSpec& spec);  // of an existing VM
  model::ApiResult<void> check_devices(const model::VmSpec& spec) const;
  model::ApiResult<void> check_room(const model::VmSpec& spec) const;
  model::ApiResult<void> check_adapter_count(const model::VmSpec& spec) const;
  model::ApiResult<void> check_free(const model::VmSpec& spec,
                                    const model::AdapterSpec& adapter) const;
  model::MacAddress choose_mac(const model::VmSpec& spec, std::uint32_t number) const;
  bool mac_taken(const model::MacAddress& mac) const;
  model::ApiResult<States> states();
  // The status of a VM that was changed. Errors: kBusy; the message says that the VM was changed.
  model::ApiResult<model::VmStatus> status_after_change(const Vm& vm);
  model::VmStatus status_of(const Vm& vm, const States& states) const;

  HostConfig config_;
  std::function<void()> on_stop_;
  Instant started_;
  std::optional<Inheritance> inheritance_;  // until begin()
  std::set<model::AdapterName> adopted_;    // likewise
  model::UpgradeStatus upgrade_;
  model::KeeperStatus keeper_;
  std::vector<std::pair<std::string, DirectoryLock>> locks_;  // with the names of their parcels
  std::unique_ptr<store::Store> store_;
  std::string address_seed_;  // address_seed.h
  std::unique_ptr<MachineView> machine_;
  std::unique_ptr<UplinkRules> uplink_rules_;
  NetworkWatch network_watch_;
  std::unique_ptr<HostNetwork> network_;
  std::unique_ptr<HostVmkernel> vmkernel_;
  std::unique_ptr<subnet_host::HostInfiniband> infiniband_;
  std::unique_ptr<HostStorage> storage_;
  std::map<std::string, Vm> vms_;
  std::map<model::AdapterName, std::uint32_t> makings_;  // of ports, so that a new one gets a tap
  std::map<std::string, std::uint32_t> uplink_makings_;  // likewise of IPoIB uplinks' taps
  std::map<model::AdapterName, model::RoceStatus> roce_ports_;  // that the worker was given
  std::map<model::AdapterName, std::string> roce_closed_;       // as the worker was told
  worker::NetworkRules network_rules_;                          // likewise
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<worker::PortTable> ports_;  // lives on the worker's thread
  std::map<std::uint64_t, std::shared_ptr<capture::Capture>> captures_;
  std::uint64_t last_capture_ = 0;
  Channels* channels_ = nullptr;  // the daemon's
  std::map<model::AdapterName, metrics::QpSeries> qp_series_;
  std::shared_ptr<const metrics::MetricsSnapshot> snapshot_;  // shared with the code that prints it
  Instant snapshot_at_{};
  mutable ChangeLog changes_;
  std::atomic<bool> unsettled_{false};
};

}  // namespace paravane::host
