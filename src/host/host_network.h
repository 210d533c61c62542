// HostNetwork manages this host's part of the distributed switches. It checks an operator's
// changes, stores them in an inventory, and has a SwitchMaker create the interfaces. It does not
// store which adapters are in a port group. It obtains the list of these adapters from a callback.
//
// In a cluster, the switches come from the cluster's View, a snapshot of the configuration in etcd.
// The inventory then keeps a copy of the switches, so that the host can start while etcd is
// unavailable. HostNetwork only drafts an operator's change, and the cluster's code writes the
// change to etcd.
//
// Control thread only. Changing a switch, or the port group of an adapter, calls apply(), which
// blocks for a bounded time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/change_log.h"
#include "host/network_change.h"
#include "host/switch_teller.h"
#include "host/uplink_rules.h"
#include "inventory/view.h"
#include "metrics/metrics_snapshot.h"
#include "model/adapter_name.h"
#include "model/hardware_version.h"
#include "model/network_management.h"
#include "model/vm.h"
#include "model/vmknic.h"
#include "privsep/roce_port_note.h"
#include "privsep/switch_line.h"
#include "privsep/switch_maker.h"
#include "privsep/uplink_note.h"
#include "store/network_inventory.h"
#include "worker/segment_id.h"

namespace paravane::host {

// An adapter that is in a port group.
struct PortUse {
  model::AdapterName adapter;
  std::string port_group;
  std::optional<model::MacAddress> mac{};
  std::uint32_t making = 0;  // how often the worker was given the adapter
  std::uint32_t hw_version = model::kMaxHardwareVersion;  // of its VM
};

struct HostNetworkConfig {
  std::string host;                       // the name of this host
  std::vector<std::string> uplinks;       // NICs that its configuration gives
  privsep::SwitchMaker* maker = nullptr;  // outlives us; null: switches are not created here
  UplinkRules* rules = nullptr;           // of this host; outlives us; null: there are none
  // The members of the cluster, where they are known; empty: any name is good.
  std::function<std::set<std::string>()> members{};
  // The VMkernel interfaces of this host, but for vmk0.
  std::function<std::vector<model::Vmknic>()> vmknics{};
  // The IPoIB uplinks that this host has, each with how often its taps had to be asked for.
  std::function<std::vector<privsep::SwitchPlan::IpoibUplink>()> ipoib_uplinks{};
  // Called when this host's interfaces have been made, or looked at again.
  std::function<void()> applied{};
  // Called before and after this host's interfaces are made, since what why_no_roce() says may have
  // changed.
  std::function<void()> roce_changed{};
  // These adapters' RoCE ports are not wanted any more.
  std::function<void(const std::vector<model::AdapterName>&)> roce_ports_gone{};
  // The taps of this uplink are not wanted any more, or only that of a VLAN.
  std::function<void(const std::string& uplink, std::optional<std::uint32_t> vlan)> uplink_gone{};
  // Called with what there is, whenever that may have changed.
  std::function<void(const model::Network&)> changed{};
  // Events about the creation of switches; empty: no events.
  std::function<void(model::Event)> tell{};
};

class HostNetwork final : public model::NetworkManagement {
 public:
  // `uses`: the adapters of this host that are in port groups, at the moment. The
  // inventory outlives us.
  HostNetwork(HostNetworkConfig config, store::NetworkInventory& inventory,
              std::function<std::vector<PortUse>()> uses);

  // Reads the inventory, without what is damaged there. Errors: kStore.
  model::ApiResult<void> load();
  // Restores the state of the inventory (in a cluster: of its View) after an operation was
  // interrupted by a lack of memory.
  void settle();
  // Applies the switches of the cluster, in which this host is called `host` (empty: it is not in a
  // cluster). `view` null: this host is not in a cluster, or does not know its state yet. True: the
  // cluster's switches or port groups have changed.
  bool follow(const std::string& host, std::shared_ptr<const inventory::View> view);
  // Returns what `act` would change, after checking all rules, but changes nothing; nullopt: all is
  // so already. Errors: as `act`.
  model::ApiResult<std::optional<NetworkChange>> draft(
      const std::function<model::ApiResult<void>(model::NetworkManagement&)>& act) const;
  // Whether the cluster's View shows this change.
  bool has_seen(const NetworkChange& change) const;
  const model::Network& network() const { return network_; }

  // Creates the switches on this host as configured and records the result. Returns the interfaces
  // that had been created before and needed repair.
  std::vector<model::MendedLink> apply();
  // Whether apply() was called. Before that, this host may have another name in its cluster.
  bool is_made() const { return is_made_; }
  // The keeper has checked the switches and repaired them without a request.
  void on_news(privsep::SwitchLine::News news);
  // The metrics of the switches that this host is in.
  std::vector<metrics::SwitchMetrics> metrics() const;

  // Checks that an adapter of this host may be in a port group; an empty name is valid. Errors:
  // kNotFound, kInvalidRequest (the host is not in the switch), kExists (the name of its tap is
  // used by another adapter).
  model::ApiResult<void> check_use(const PortUse& use) const;
  verbs::SegmentId segment_of(const std::string& vm, const model::AdapterSpec& adapter) const {
    return worker::segment_of(network_, adapter.port_group, {.vm = vm, .number = adapter.number});
  }
  // Checks that a VMkernel interface of this host may be in its port group. Errors: as check_use().
  model::ApiResult<void> check_vmknic(const model::Vmknic& vmknic) const;
  // The result does not say whether the interface is tagged.
  model::VmknicStatus status_of(const model::Vmknic& vmknic) const;
  // The interface that has [cluster] address; nullopt: none has.
  const std::optional<privsep::SwitchReport::Management>& management() const {
    return report_.management;
  }
  // What is wrong with an adapter's tap; empty: nothing.
  struct TapProblem {
    std::string text{};
    model::LinkFault fault{};
  };
  TapProblem tap_problem(const PortUse& use) const;
  // Whether the last plan has this port, and not one of the adapter that was opened for a plan
  // before it.
  bool wants_roce(const privsep::RocePortNote& port) const;
  // Whether the last plan has this tap of an IPoIB uplink, and not one that was opened for a plan
  // before it.
  bool wants_uplink(const privsep::UplinkNote& tap) const;
  // The switch whose uplink on this host it is, or a standby uplink; empty: none.
  std::string switch_of_uplink(const std::string& uplink) const;
  // Why an adapter of this host reaches no native RoCE endpoints; empty: nothing is in the way.
  std::string why_no_roce(const PortUse& use) const;
  // Why the kernel does not merge all packets that come to an adapter's RoCE port; empty: it does,
  // or there is no port.
  std::string why_unmerged(const model::AdapterName& adapter) const;

  const std::string& host() const { return config_.host; }

  // ---- NetworkManagement ----
  model::ApiResult<model::SwitchStatus> create_switch(const model::DistributedSwitch& vds) override;
  model::ApiResult<model::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                       std::uint32_t mtu) override;
  model::ApiResult<void> delete_switch(const std::string& vds) override;
  model::ApiResult<model::SwitchStatus> add_switch_host(const std::string& vds,
                                                        const model::SwitchHost& host) override;
  model::ApiResult<model::SwitchStatus> set_switch_uplink(const std::string& vds,
                                                          const model::SwitchHost& host) override;
  model::ApiResult<model::SwitchStatus> remove_switch_host(const std::string& vds,
                                                           const std::string& host) override;
  model::ApiResult<std::vector<model::SwitchStatus>> list_switches() override;
  model::ApiResult<model::SwitchStatus> find_switch(const std::string& name) override;
  model::ApiResult<model::SwitchRepair> repair_switches() override;
  model::ApiResult<model::PortGroupStatus> create_port_group(
      const model::PortGroup& group) override;
  model::ApiResult<model::PortGroupStatus> change_port_group(
      const std::string& name, const model::PortGroupChange& change) override;
  model::ApiResult<void> delete_port_group(const std::string& name) override;
  model::ApiResult<std::vector<model::PortGroupStatus>> list_port_groups() override;
  model::ApiResult<model::PortGroupStatus> find_port_group(const std::string& name) override;

 private:
  std::vector<model::Vmknic> vmknics() const {
    return config_.vmknics ? config_.vmknics() : std::vector<model::Vmknic>();
  }
  model::ApiResult<model::PortGroup> find_on_this_host(const std::string& port_group) const;
  // The names of adapters and VMkernel interfaces of this host, and of adapters of other hosts with
  // the names of these hosts.
  enum class Owner : std::uint8_t { kVm, kService };
  std::vector<std::string> adapters_in(const std::string& port_group, Owner owner) const;
  std::vector<std::string> vmknics_in(const std::string& port_group) const;
  std::vector<std::string> adapters_elsewhere(const std::string& port_group) const;
  privsep::SwitchPlan plan() const;
  // Those of this host's that are uplinks of switches in the plan.
  std::vector<privsep::SwitchPlan::IpoibUplink> used_uplinks(const privsep::SwitchPlan& plan) const;
  void tell_roce_ports(const privsep::SwitchPlan& plan);
  void tell_uplinks(const privsep::SwitchPlan& plan);
  // Takes out of a planned switch the uplinks that this host cannot use.
  void leave_out_uplinks(privsep::SwitchPlan::Switch& vds) const;
  // Adds what only the engine knows.
  void add_problems(privsep::SwitchReport& report) const;
  // Stores the new state of a switch, then applies it.
  model::ApiResult<model::SwitchStatus> put(const model::DistributedSwitch& vds);
  // Stores the current state of the switches.
  void take(privsep::SwitchReport report);
  void take_own_name(const std::string& before);
  void keep(const model::Network& network);
  void log_created(const model::PortGroup& group);
  void log_changed(const model::PortGroup& group);
  // Replaces damaged records by those of the cluster, or removes them if the cluster does not have
  // the object any more.
  void mend_left_out(const model::Network& network);
  std::vector<model::LeftOut> left_out() const;  // switches and port groups
  // Checks that there is no damaged record of this object, so that it may be created. Errors:
  // kStore.
  model::ApiResult<void> check_not_left_out(std::string_view kind, const std::string& name) const;
  // Checks that no adapter or VMkernel interface on any host uses the port group. Errors: kInUse.
  model::ApiResult<void> check_unused(const std::string& port_group) const;
  // The same for all port groups of a switch, on one host.
  model::ApiResult<void> check_unused_on(const std::string& host, const std::string& vds) const;
  model::ApiResult<void> check_member(const std::string& host) const;
  model::ApiResult<void> check_given(const model::SwitchHost& host) const;
  // Returns `host` with the NICs' names in Linux.
  model::ApiResult<model::SwitchHost> resolve(const model::SwitchHost& host) const;
  model::SwitchStatus status_of(const model::DistributedSwitch& vds) const;
  model::PortGroupStatus status_of(const model::PortGroup& group) const;

  HostNetworkConfig config_;
  store::NetworkInventory& inventory_;
  std::function<std::vector<PortUse>()> uses_;
  const std::string own_name_;                   // without a cluster
  std::shared_ptr<const inventory::View> view_;  // shared: the cluster's thread made it
  model::Network network_;
  bool is_made_ = false;
  privsep::SwitchReport report_;  // the last report
  // Of the last plan, each with its switch's MTU: the keeper opens a port anew with another.
  std::vector<std::pair<privsep::SwitchPlan::RocePort, std::uint32_t>> roce_ports_;
  // Likewise the IPoIB uplinks, each with its switch's MTU and VLANs.
  struct PlannedUplink {
    privsep::SwitchPlan::IpoibUplink uplink;
    std::string vds;
    std::uint32_t mtu = 0;
    std::vector<std::uint32_t> vlans;
  };
  std::vector<PlannedUplink> ipoib_uplinks_;
  SwitchTeller teller_;
  ChangeLog changes_;
};

}  // namespace paravane::host
