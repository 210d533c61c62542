// ApiClient: carries out the operations of the management API by sending requests to the daemon's
// UNIX socket. It implements the same interfaces as the daemon's own code (model/management.h), so
// a command can call an operation as if it were a local function.
//
// Each operation makes one call to ApiCaller. Any thread, one call at a time.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "api/api_caller.h"
#include "api/event_log.h"
#include "model/check_row.h"
#include "model/cluster.h"
#include "model/management.h"

namespace paravane::api {

// The socket that is used if the environment variable PARAVANE_SOCKET is not set.
inline constexpr const char* kDefaultApiSocket = "/run/paravane/api.sock";

class ApiClient final : public model::Management, public model::ClusterManagement {
 public:
  explicit ApiClient(ApiCallerConfig config) : caller_(std::move(config)) {}

  // Whether the last call failed because there was no response at the socket.
  bool unreachable() const { return caller_.unreachable(); }

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
  model::ApiResult<model::VmkernelConfiguration> vmkernel_configuration() override;
  model::ApiResult<model::VmknicStatus> add_vmknic(const model::Vmknic& vmknic) override;
  model::ApiResult<model::VmknicStatus> set_vmknic(const std::string& name,
                                                   const model::VmknicChange& change) override;
  model::ApiResult<void> remove_vmknic(const std::string& name) override;
  model::ApiResult<void> set_setting(const model::SettingValue& setting) override;
  model::ApiResult<void> set_ruleset(const model::FirewallRuleset& ruleset) override;
  model::ApiResult<model::ImpairmentStatus> set_impairment(
      const model::Impairment& impairment) override;
  model::ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override;
  model::ApiResult<std::vector<model::ImpairmentStatus>> list_impairments() override;
  model::ApiResult<std::vector<model::PhysicalNic>> list_nics() override;
  model::ApiResult<model::NicDcb> nic_dcb(const std::string& nic) override;
  model::ApiResult<std::vector<model::RdmaDevice>> list_rdma_devices() override;
  model::ApiResult<model::RdmaStats> rdma_device_stats(const std::string& name) override;
  model::ApiResult<std::vector<model::IbAdapterStatus>> list_ib_adapters() override;
  model::ApiResult<model::IbAdapterStatus> add_ib_adapter(const model::IbAdapter& adapter) override;
  model::ApiResult<void> remove_ib_adapter(const std::string& name) override;
  model::ApiResult<std::vector<model::IbUplink>> list_ib_uplinks() override;
  model::ApiResult<model::IbFabric> ib_fabric() override;
  model::ApiResult<std::vector<model::IbManager>> list_ib_managers() override;
  model::ApiResult<void> add_ib_manager(const std::string& host) override;
  model::ApiResult<void> remove_ib_manager(const std::string& host) override;
  model::ApiResult<std::vector<model::IbModuleStatus>> list_ib_modules() override;
  model::ApiResult<model::IbModuleStatus> change_ib_module(
      const std::string& name, const model::IbModuleChange& change) override;
  model::ApiResult<void> restart_infiniband() override;
  model::ApiResult<std::vector<model::Vmhba>> list_vmhbas() override;
  model::ApiResult<model::Vmhba> set_vmhba(const std::string& name,
                                           const model::VmhbaSetting& setting) override;
  model::ApiResult<void> rescan(const std::optional<std::string>& vmhba) override;
  // Of any vmhba, whichever is named.
  model::ApiResult<bool> is_scanning(const std::optional<std::string>& vmhba) override;
  model::ApiResult<std::vector<model::SrpTargetStatus>> list_srp_targets() override;
  model::ApiResult<void> add_srp_target(const model::SrpTarget& target) override;
  model::ApiResult<void> remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                           bool force) override;
  model::ApiResult<std::vector<model::ScsiDevice>> list_scsi_devices() override;
  model::ApiResult<std::vector<model::LunPath>> list_lun_paths() override;
  model::ApiResult<model::CaptureStatus> start_capture(const model::CaptureSpec& spec) override;
  model::ApiResult<model::CapturePackets> read_capture(std::uint64_t id) override;
  model::ApiResult<model::CaptureStatus> end_capture(std::uint64_t id) override;
  model::ApiResult<std::vector<model::CaptureStatus>> list_captures() override;
  model::ApiResult<model::ClusterStatus> init_cluster(const model::ClusterInit& init) override;
  model::ApiResult<model::JoinToken> make_token(const model::TokenRequest& request) override;
  model::ApiResult<model::ClusterStatus> join_cluster(const std::string& token) override;
  model::ApiResult<void> leave_cluster(bool force) override;
  model::ApiResult<void> remove_host(const std::string& host) override;
  model::ApiResult<model::AcceptSummary> inspect_accept() override;
  model::ApiResult<model::ClusterStatus> accept_inventory() override;
  model::ApiResult<model::SealedBackup> back_up_cluster(const std::string& passphrase) override;
  model::ApiResult<model::BackupSummary> inspect_backup(const model::BackupRequest& asked) override;
  model::ApiResult<model::ClusterStatus> restore_cluster(
      const model::BackupRequest& asked) override;
  model::ApiResult<model::ClusterStatus> promote_host(const model::BackupRequest& asked) override;
  model::ApiResult<model::ClusterStatus> cluster_status() override;
  model::ApiResult<std::vector<model::ClusterAdapter>> cluster_adapters() override;

  // The metrics in the text format of Prometheus.
  model::ApiResult<std::string> metrics() { return call("GET", "/metrics"); }

  // Checks the requirements for powering on the VM. Errors: kNotFound.
  model::ApiResult<std::vector<model::CheckRow>> check_vm(const std::string& name);

  // Waits up to `wait_s` seconds for the first event. Errors: kNotFound (the daemon does not
  // support events).
  model::ApiResult<EventPage> events(const EventQuery& query, unsigned wait_s);

 private:
  // Returns the body of a successful response.
  model::ApiResult<std::string> call(const char* method, const std::string& path,
                                     const std::string& body = {}) {
    return caller_.call(method, path, body);
  }
  template <typename T>
  model::ApiResult<T> parse(const model::ApiResult<std::string>& body,
                            Result<T> (*read)(const nlohmann::json&)) const;

  ApiCaller caller_;
};

}  // namespace paravane::api
