// ApiClient: the management API from the customer's side, over the daemon's unix
// socket. It is Management as well, so a command does not see the difference.
//
// Each call is one of ApiCaller's. Any thread, one call at a time.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "control/api_caller.h"
#include "control/check_row.h"
#include "control/cluster.h"
#include "control/event_log.h"
#include "control/management.h"

namespace paravane::control {

// Also when the environment has no PARAVANE_SOCKET.
inline constexpr const char* kDefaultApiSocket = "/run/paravane/api.sock";

class ApiClient final : public Management, public ClusterManagement {
 public:
  explicit ApiClient(ApiCallerConfig config) : caller_(std::move(config)) {}

  // Of the last call that failed: nobody answered at the socket.
  bool unreachable() const { return caller_.unreachable(); }

  ApiResult<VmStatus> add_vm(const VmSpec& spec) override;
  ApiResult<void> remove_vm(const std::string& name, bool force) override;
  ApiResult<VmStatus> set_vm(const std::string& name, const VmChange& change) override;
  ApiResult<VmStatus> add_adapter(const std::string& name, const AdapterRequest& request) override;
  ApiResult<VmStatus> remove_adapter(const std::string& name, std::uint32_t number,
                                     bool force) override;
  ApiResult<VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                    bool connected) override;
  ApiResult<std::vector<VmStatus>> list_vms() override;
  ApiResult<VmStatus> find_vm(const std::string& name) override;
  ApiResult<DaemonStatus> status() override;
  ApiResult<Stats> stats(const std::optional<std::string>& vm) override;
  ApiResult<void> stop(bool force) override;

  ApiResult<SwitchStatus> create_switch(const DistributedSwitch& vds) override;
  ApiResult<SwitchStatus> set_switch_mtu(const std::string& vds, std::uint32_t mtu) override;
  ApiResult<void> delete_switch(const std::string& vds) override;
  ApiResult<SwitchStatus> add_switch_host(const std::string& vds, const SwitchHost& host) override;
  ApiResult<SwitchStatus> set_switch_uplink(const std::string& vds,
                                            const SwitchHost& host) override;
  ApiResult<SwitchStatus> remove_switch_host(const std::string& vds,
                                             const std::string& host) override;
  ApiResult<std::vector<SwitchStatus>> list_switches() override;
  ApiResult<SwitchStatus> find_switch(const std::string& name) override;
  ApiResult<PortGroupStatus> create_port_group(const PortGroup& group) override;
  ApiResult<void> delete_port_group(const std::string& name) override;
  ApiResult<std::vector<PortGroupStatus>> list_port_groups() override;
  ApiResult<PortGroupStatus> find_port_group(const std::string& name) override;
  ApiResult<VmkernelConfiguration> vmkernel_configuration() override;
  ApiResult<VmknicStatus> add_vmknic(const Vmknic& vmknic) override;
  ApiResult<VmknicStatus> set_vmknic(const std::string& name, const VmknicChange& change) override;
  ApiResult<void> remove_vmknic(const std::string& name) override;
  ApiResult<void> set_setting(const SettingValue& setting) override;
  ApiResult<void> set_ruleset(const FirewallRuleset& ruleset) override;
  ApiResult<ImpairmentStatus> set_impairment(const Impairment& impairment) override;
  ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override;
  ApiResult<std::vector<ImpairmentStatus>> list_impairments() override;
  ApiResult<std::vector<PhysicalNic>> list_nics() override;
  ApiResult<std::vector<RdmaDevice>> list_rdma_devices() override;
  ApiResult<RdmaStats> rdma_device_stats(const std::string& name) override;
  ApiResult<CaptureStatus> start_capture(const CaptureSpec& spec) override;
  ApiResult<CapturePackets> read_capture(std::uint64_t id) override;
  ApiResult<CaptureStatus> end_capture(std::uint64_t id) override;
  ApiResult<std::vector<CaptureStatus>> list_captures() override;
  ApiResult<ClusterStatus> init_cluster(const ClusterInit& init) override;
  ApiResult<JoinToken> make_token(const TokenRequest& request) override;
  ApiResult<ClusterStatus> join_cluster(const std::string& token) override;
  ApiResult<void> leave_cluster(bool force) override;
  ApiResult<void> remove_host(const std::string& host) override;
  ApiResult<ClusterStatus> cluster_status() override;

  // What the VM needs before power-on. Errors: kNotFound.
  ApiResult<std::vector<CheckRow>> check_vm(const std::string& name);

  // Waits up to `wait_s` for the first. Errors: kNotFound (a daemon that knows no events).
  ApiResult<EventPage> events(const EventQuery& query, unsigned wait_s);

 private:
  // The body of a successful answer.
  ApiResult<std::string> call(const char* method, const std::string& path,
                              const std::string& body = {}) {
    return caller_.call(method, path, body);
  }
  template <typename T>
  ApiResult<T> parse(const ApiResult<std::string>& body,
                     Result<T> (*read)(const nlohmann::json&)) const;

  ApiCaller caller_;
};

}  // namespace paravane::control
