// HostStorage manages this host's SRP storage adapters (vmhbas): which there are, by the ports of
// the InfiniBand adapters and by module ib_srp; what an operator has set of them, in the store; and
// what the worker tells of their targets and devices.
//
// A vmhba keeps its number for good, also while its adapter is away.
//
// Control thread only. Requests to the worker block this thread for a bounded time.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limited_log.h"
#include "inventory/view.h"
#include "model/adapter_name.h"
#include "model/event.h"
#include "model/storage.h"
#include "model/storage_management.h"
#include "storage/storage.h"
#include "store/device_numbers.h"
#include "store/store.h"
#include "subnet_host/srp_vmhba.h"
#include "worker/port_table.h"
#include "worker/worker.h"

namespace paravane::host {

struct HostStorageConfig {
  storage::SocketPlace sockets{};
  // The vmhbas that module ib_srp makes of the ports, in their order, without numbers.
  std::function<model::ApiResult<subnet_host::SrpVmhbas>()> vmhbas{};
  // The segment of an adapter in a port group; nullopt: there is no such port group.
  std::function<std::optional<verbs::SegmentId>(const std::string& port_group,
                                                const model::AdapterName& adapter)>
      segment_of{};
  // The LUNs that are disks of VMs, each with its VM.
  std::function<std::map<std::string, std::string>()> luns_of_vms{};
  std::function<void(model::Event)> tell{};
  std::function<void()> changed{};  // in_port_groups()
  // These vmhbas leave the port group that they were in: their RoCE ports are to be closed.
  std::function<void(const std::vector<model::AdapterName>&)> moved{};
  // Whether a vmhba in the port group can have an IPv4 address. Errors: kNotFound, kInvalidRequest.
  std::function<model::ApiResult<void>(const std::string& port_group)> check_ipv4{};
  // Why a vmhba in a port group reaches no native endpoints; empty: it does.
  std::function<std::string(const model::AdapterName& adapter, const inventory::AdapterInfo& info)>
      why_no_roce{};
};

class HostStorage final : public model::StorageManagement {
 public:
  // All outlive us, but the worker's tenants: end() comes before the PortTable goes.
  HostStorage(HostStorageConfig config, store::Store& store, worker::Worker& worker,
              worker::PortTable& ports);
  ~HostStorage() override;

  // Reads the store; makes nothing. Errors: kStore.
  model::ApiResult<void> load();
  // Has the worker make what there is to be. Called again when ports, modules or networks have
  // changed.
  void apply();
  // The vmhbas in port groups, which adapters of other hosts may reach.
  std::map<model::AdapterName, inventory::AdapterInfo> in_port_groups() const;
  // On the worker's thread: all of it ends.
  void end() { storage_.reset(); }
  // ---- StorageManagement ----
  model::ApiResult<std::vector<model::Vmhba>> list_vmhbas() override;
  model::ApiResult<model::Vmhba> set_vmhba(const std::string& name,
                                           const model::VmhbaSetting& setting) override;
  model::ApiResult<void> rescan(const std::optional<std::string>& vmhba) override;
  model::ApiResult<bool> is_scanning(const std::optional<std::string>& vmhba) override;
  model::ApiResult<std::vector<model::SrpTargetStatus>> list_srp_targets() override;
  model::ApiResult<void> add_srp_target(const model::SrpTarget& target) override;
  model::ApiResult<void> remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                           bool force) override;
  model::ApiResult<std::vector<model::ScsiDevice>> list_scsi_devices() override;
  model::ApiResult<std::vector<model::LunPath>> list_lun_paths() override;

 private:
  struct Known {
    std::uint32_t number = 0;
    subnet_host::SrpVmhba made{};
    std::string problem{};
  };
  model::ApiResult<void> load_settings();
  model::ApiResult<void> load_numbers();
  void keep_numbers();
  void forget_settings(const std::string& name);
  void forget_document(const std::string& kind, const std::string& name);
  void number(const subnet_host::SrpVmhbas& made);
  std::vector<storage::VmhbaOrder> orders();
  enum class Detail : std::uint8_t { kTargets, kDevices };
  // kTargets: without devices, so that the worker has little to do for it.
  model::ApiResult<storage::StorageReport> report(Detail detail);
  bool has(const std::string& vmhba) const { return known_.contains(vmhba); }
  std::unexpected<model::ApiError> no_such_vmhba(const std::string& name) const;
  model::ApiResult<void> check_ipv4(const std::string& name,
                                    const model::VmhbaSetting& setting) const;
  // Why it reaches no targets on an Ethernet though it is to; empty: it does.
  std::string ethernet_problem(const std::string& name) const;

  const HostStorageConfig config_;
  store::Store& store_;
  worker::Worker& worker_;
  worker::PortTable& ports_;
  std::unique_ptr<storage::Storage> storage_;  // the worker's
  std::map<std::string, model::VmhbaSetting> settings_;
  std::map<std::string, model::SrpTarget> named_;  // by their documents
  store::DeviceNumbers numbers_;
  std::map<std::string, Known> known_;                         // by name
  std::map<model::AdapterName, inventory::AdapterInfo> told_;  // in_port_groups() of the last time
  std::uint32_t most_targets_ = 16;
  LimitedLog log_;
};

}  // namespace paravane::host
