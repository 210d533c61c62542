#include "api/api_client.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "api/backup_json.h"
#include "api/capture_api.h"
#include "api/capture_json.h"
#include "api/cluster_json.h"
#include "api/event_json.h"
#include "api/events_api.h"
#include "api/ib_module_json.h"
#include "api/impairment_api.h"
#include "api/impairment_json.h"
#include "api/infiniband_api.h"
#include "api/infiniband_json.h"
#include "api/machine_api.h"
#include "api/machine_json.h"
#include "api/network_json.h"
#include "api/nic_dcb_json.h"
#include "api/stats_json.h"
#include "api/storage_api.h"
#include "api/storage_json.h"
#include "api/vm_check_api.h"
#include "api/vm_check_json.h"
#include "api/vm_json.h"
#include "api/vmkernel_api.h"
#include "api/vmkernel_json.h"
#include "json/json_text.h"

namespace paravane::api {

using nlohmann::json;

namespace {

// {"vms": [VM, ...]} and such.
template <typename T>
Result<std::vector<T>> list_from_json(const json& value, const char* key,
                                      Result<T> (*read)(const json&)) {
  if (!value.is_object() || !value.contains(key) || !value.at(key).is_array()) {
    return fail(Errc::kInvalidArgument, fmt::format("expected a list of {}", key));
  }
  std::vector<T> list;
  for (const json& element : value.at(key)) {
    Result<T> one = read(element);
    if (!one) return std::unexpected(one.error());
    list.push_back(std::move(*one));
  }
  return list;
}

Result<std::vector<model::VmStatus>> vm_list_from_json(const json& value) {
  return list_from_json(value, "vms", vm_status_from_json);
}

Result<std::vector<model::SwitchStatus>> switch_list_from_json(const json& value) {
  return list_from_json(value, "vds", switch_status_from_json);
}

Result<std::vector<model::PortGroupStatus>> port_group_list_from_json(const json& value) {
  return list_from_json(value, "portgroups", port_group_status_from_json);
}

Result<std::vector<model::ImpairmentStatus>> impairment_list_from_json(const json& value) {
  return list_from_json(value, "impairments", impairment_status_from_json);
}

Result<std::vector<model::PhysicalNic>> nic_list_from_json(const json& value) {
  return list_from_json(value, "nics", nic_from_json);
}

Result<std::vector<model::RdmaDevice>> rdma_device_list_from_json(const json& value) {
  return list_from_json(value, "rdma_devices", rdma_device_from_json);
}

Result<std::vector<model::IbAdapterStatus>> ib_adapter_list_from_json(const json& value) {
  return list_from_json(value, "adapters", ib_adapter_status_from_json);
}

Result<std::vector<model::IbModuleStatus>> ib_module_list_from_json(const json& value) {
  return list_from_json(value, "modules", ib_module_status_from_json);
}

Result<std::vector<model::IbUplink>> ib_uplink_list_from_json(const json& value) {
  return list_from_json(value, "uplinks", ib_uplink_from_json);
}

Result<std::vector<model::IbManager>> ib_manager_list_from_json(const json& value) {
  return list_from_json(value, "managers", ib_manager_from_json);
}

Result<std::vector<model::Vmhba>> vmhba_list_from_json(const json& value) {
  return list_from_json(value, "vmhbas", vmhba_from_json);
}

Result<std::vector<model::SrpTargetStatus>> srp_target_list_from_json(const json& value) {
  return list_from_json(value, "targets", srp_target_status_from_json);
}

Result<std::vector<model::ScsiDevice>> scsi_device_list_from_json(const json& value) {
  return list_from_json(value, "devices", scsi_device_from_json);
}

Result<std::vector<model::LunPath>> lun_path_list_from_json(const json& value) {
  return list_from_json(value, "paths", lun_path_from_json);
}

Result<std::vector<model::CaptureStatus>> capture_list_from_json(const json& value) {
  return list_from_json(value, "captures", capture_status_from_json);
}

Result<std::vector<model::CheckRow>> check_list_from_json(const json& value) {
  return list_from_json(value, "checks", check_row_from_json);
}

std::string capture_path(std::uint64_t id) {
  return fmt::format("{}/{}", kCapturesPath, id);
}

}  // namespace

template <typename T>
model::ApiResult<T> ApiClient::parse(const model::ApiResult<std::string>& body,
                                     Result<T> (*read)(const json&)) const {
  if (!body) return std::unexpected(body.error());
  const Result<json> value = parse_json(*body);
  if (!value) return std::unexpected(caller_.not_understood(value.error()));
  Result<T> parsed = read(*value);
  if (!parsed) return std::unexpected(caller_.not_understood(parsed.error()));
  return std::move(*parsed);
}

model::ApiResult<model::VmStatus> ApiClient::add_vm(const model::VmSpec& spec) {
  return parse(call("POST", "/v1/vms", print_json(to_json(spec))), vm_status_from_json);
}

model::ApiResult<void> ApiClient::remove_vm(const std::string& name, bool force) {
  const auto body = call("DELETE", "/v1/vms/" + name + (force ? "?force=true" : ""));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<model::VmStatus> ApiClient::set_vm(const std::string& name,
                                                    const model::VmChange& change) {
  return parse(call("PATCH", "/v1/vms/" + name, print_json(to_json(change))), vm_status_from_json);
}

model::ApiResult<model::VmStatus> ApiClient::add_adapter(const std::string& name,
                                                         const model::AdapterRequest& request) {
  return parse(call("POST", fmt::format("/v1/vms/{}/adapters", name), print_json(to_json(request))),
               vm_status_from_json);
}

model::ApiResult<model::VmStatus> ApiClient::remove_adapter(const std::string& name,
                                                            std::uint32_t number, bool force) {
  return parse(call("DELETE", fmt::format("/v1/vms/{}/adapters/{}{}", name, number,
                                          force ? "?force=true" : "")),
               vm_status_from_json);
}

model::ApiResult<model::VmStatus> ApiClient::set_connected(const std::string& name,
                                                           std::uint32_t number, bool connected) {
  return parse(call("PATCH", fmt::format("/v1/vms/{}/adapters/{}", name, number),
                    print_json({{"connected", connected}})),
               vm_status_from_json);
}

model::ApiResult<std::vector<model::VmStatus>> ApiClient::list_vms() {
  return parse(call("GET", "/v1/vms"), vm_list_from_json);
}

model::ApiResult<model::VmStatus> ApiClient::find_vm(const std::string& name) {
  return parse(call("GET", "/v1/vms/" + name), vm_status_from_json);
}

model::ApiResult<std::vector<model::CheckRow>> ApiClient::check_vm(const std::string& name) {
  return parse(call("GET", fmt::format("/v1/vms/{}{}", name, kVmCheck)), check_list_from_json);
}

model::ApiResult<model::DaemonStatus> ApiClient::status() {
  return parse(call("GET", "/v1/status"), daemon_status_from_json);
}

model::ApiResult<model::Stats> ApiClient::stats(const std::optional<std::string>& vm) {
  return parse(call("GET", vm ? "/v1/stats?vm=" + *vm : "/v1/stats"), stats_from_json);
}

model::ApiResult<void> ApiClient::stop(bool force) {
  const auto body =
      call("POST", "/v1/daemon/stop", force ? R"({"force":true})" : R"({"force":false})");
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<void> ApiClient::upgrade(bool only_check) {
  const auto body = call("POST", "/v1/daemon/upgrade", print_json({{"check", only_check}}));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<model::SwitchStatus> ApiClient::create_switch(
    const model::DistributedSwitch& vds) {
  return parse(call("POST", "/v1/vds", print_json(to_json(vds))), switch_status_from_json);
}

model::ApiResult<model::SwitchStatus> ApiClient::set_switch_mtu(const std::string& vds,
                                                                std::uint32_t mtu) {
  return parse(call("PATCH", "/v1/vds/" + vds, print_json({{"mtu", mtu}})),
               switch_status_from_json);
}

model::ApiResult<void> ApiClient::delete_switch(const std::string& vds) {
  const auto body = call("DELETE", "/v1/vds/" + vds);
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<model::SwitchStatus> ApiClient::add_switch_host(const std::string& vds,
                                                                 const model::SwitchHost& host) {
  return parse(call("POST", fmt::format("/v1/vds/{}/hosts", vds), print_json(to_json(host))),
               switch_status_from_json);
}

model::ApiResult<model::SwitchStatus> ApiClient::set_switch_uplink(const std::string& vds,
                                                                   const model::SwitchHost& host) {
  nlohmann::json change = to_json(host);
  change.erase("host");
  return parse(
      call("PATCH", fmt::format("/v1/vds/{}/hosts/{}", vds, host.host), print_json(change)),
      switch_status_from_json);
}

model::ApiResult<model::SwitchStatus> ApiClient::remove_switch_host(const std::string& vds,
                                                                    const std::string& host) {
  return parse(call("DELETE", fmt::format("/v1/vds/{}/hosts/{}", vds, host)),
               switch_status_from_json);
}

model::ApiResult<std::vector<model::SwitchStatus>> ApiClient::list_switches() {
  return parse(call("GET", "/v1/vds"), switch_list_from_json);
}

model::ApiResult<model::SwitchStatus> ApiClient::find_switch(const std::string& name) {
  return parse(call("GET", "/v1/vds/" + name), switch_status_from_json);
}

model::ApiResult<model::SwitchRepair> ApiClient::repair_switches() {
  return parse(call("POST", "/v1/repair"), switch_repair_from_json);
}

model::ApiResult<model::PortGroupStatus> ApiClient::create_port_group(
    const model::PortGroup& group) {
  return parse(call("POST", "/v1/portgroups", print_json(to_json(group))),
               port_group_status_from_json);
}

model::ApiResult<model::PortGroupStatus> ApiClient::change_port_group(
    const std::string& name, const model::PortGroupChange& change) {
  return parse(call("PATCH", "/v1/portgroups/" + name, print_json(to_json(change))),
               port_group_status_from_json);
}

model::ApiResult<void> ApiClient::delete_port_group(const std::string& name) {
  const auto body = call("DELETE", "/v1/portgroups/" + name);
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<std::vector<model::PortGroupStatus>> ApiClient::list_port_groups() {
  return parse(call("GET", "/v1/portgroups"), port_group_list_from_json);
}

model::ApiResult<model::PortGroupStatus> ApiClient::find_port_group(const std::string& name) {
  return parse(call("GET", "/v1/portgroups/" + name), port_group_status_from_json);
}

model::ApiResult<model::VmkernelConfiguration> ApiClient::vmkernel_configuration() {
  return parse(call("GET", std::string(kVmkernelConfigurationPath)),
               vmkernel_configuration_from_json);
}

model::ApiResult<model::VmknicStatus> ApiClient::add_vmknic(const model::Vmknic& vmknic) {
  return parse(call("POST", fmt::format("{}/vmknics", kVmkernelConfigurationPath),
                    print_json(to_json(vmknic))),
               vmknic_status_from_json);
}

model::ApiResult<model::VmknicStatus> ApiClient::set_vmknic(const std::string& name,
                                                            const model::VmknicChange& change) {
  return parse(call("PATCH", fmt::format("{}/vmknics/{}", kVmkernelConfigurationPath, name),
                    print_json(to_json(change))),
               vmknic_status_from_json);
}

model::ApiResult<void> ApiClient::remove_vmknic(const std::string& name) {
  const auto body = call("DELETE", fmt::format("{}/vmknics/{}", kVmkernelConfigurationPath, name));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<void> ApiClient::set_setting(const model::SettingValue& setting) {
  const auto body = call("PATCH", fmt::format("{}/settings", kVmkernelConfigurationPath),
                         print_json(to_json(setting)));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<void> ApiClient::set_ruleset(const model::FirewallRuleset& ruleset) {
  const auto body = call("PATCH", fmt::format("{}/rulesets", kVmkernelConfigurationPath),
                         print_json(to_json(ruleset)));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<model::ImpairmentStatus> ApiClient::set_impairment(
    const model::Impairment& impairment) {
  return parse(call("POST", kImpairmentsPath, print_json(to_json(impairment))),
               impairment_status_from_json);
}

model::ApiResult<void> ApiClient::clear_impairments(const std::optional<std::string>& vm) {
  const std::string path = kImpairmentsPath + (vm ? "?vm=" + *vm : std::string());
  const auto body = call("DELETE", path);
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<std::vector<model::ImpairmentStatus>> ApiClient::list_impairments() {
  return parse(call("GET", kImpairmentsPath), impairment_list_from_json);
}

model::ApiResult<std::vector<model::PhysicalNic>> ApiClient::list_nics() {
  return parse(call("GET", kNicsPath), nic_list_from_json);
}

model::ApiResult<model::NicDcb> ApiClient::nic_dcb(const std::string& nic) {
  return parse(call("GET", fmt::format("{}/{}/dcb", kNicsPath, nic)), nic_dcb_from_json);
}

model::ApiResult<std::vector<model::RdmaDevice>> ApiClient::list_rdma_devices() {
  return parse(call("GET", kRdmaDevicesPath), rdma_device_list_from_json);
}

model::ApiResult<model::RdmaStats> ApiClient::rdma_device_stats(const std::string& name) {
  return parse(call("GET", fmt::format("{}/{}/stats", kRdmaDevicesPath, name)),
               rdma_stats_from_json);
}

model::ApiResult<std::vector<model::IbAdapterStatus>> ApiClient::list_ib_adapters() {
  return parse(call("GET", kIbAdaptersPath), ib_adapter_list_from_json);
}

model::ApiResult<model::IbAdapterStatus> ApiClient::add_ib_adapter(
    const model::IbAdapter& adapter) {
  return parse(call("POST", kIbAdaptersPath, print_json(to_json(adapter))),
               ib_adapter_status_from_json);
}

model::ApiResult<void> ApiClient::remove_ib_adapter(const std::string& name) {
  const auto body = call("DELETE", fmt::format("{}/{}", kIbAdaptersPath, name));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<std::vector<model::IbUplink>> ApiClient::list_ib_uplinks() {
  return parse(call("GET", kIbUplinksPath), ib_uplink_list_from_json);
}

model::ApiResult<model::IbFabric> ApiClient::ib_fabric() {
  return parse(call("GET", kIbFabricPath), ib_fabric_from_json);
}

model::ApiResult<std::vector<model::IbManager>> ApiClient::list_ib_managers() {
  return parse(call("GET", kIbManagersPath), ib_manager_list_from_json);
}

model::ApiResult<void> ApiClient::add_ib_manager(const std::string& host) {
  const auto body = call("POST", kIbManagersPath, print_json({{"host", host}}));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<void> ApiClient::remove_ib_manager(const std::string& host) {
  const auto body = call("DELETE", fmt::format("{}/{}", kIbManagersPath, host));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<std::vector<model::IbModuleStatus>> ApiClient::list_ib_modules() {
  return parse(call("GET", kIbModulesPath), ib_module_list_from_json);
}

model::ApiResult<model::IbModuleStatus> ApiClient::change_ib_module(
    const std::string& name, const model::IbModuleChange& change) {
  return parse(
      call("PATCH", fmt::format("{}/{}", kIbModulesPath, name), print_json(to_json(change))),
      ib_module_status_from_json);
}

model::ApiResult<void> ApiClient::restart_infiniband() {
  const auto body = call("POST", kIbRestartPath);
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<std::vector<model::Vmhba>> ApiClient::list_vmhbas() {
  return parse(call("GET", kVmhbasPath), vmhba_list_from_json);
}

model::ApiResult<model::Vmhba> ApiClient::set_vmhba(const std::string& name,
                                                    const model::VmhbaSetting& setting) {
  return parse(call("PATCH", fmt::format("{}/{}", kVmhbasPath, name), print_json(to_json(setting))),
               vmhba_from_json);
}

model::ApiResult<void> ApiClient::rescan(const std::optional<std::string>& vmhba) {
  const auto body = call("POST", kRescanPath, print_json(to_json(RescanRequest{.vmhba = vmhba})));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<bool> ApiClient::is_scanning(const std::optional<std::string>& /*vmhba*/) {
  return parse(call("GET", kRescanPath), rescan_status_from_json);
}

model::ApiResult<std::vector<model::SrpTargetStatus>> ApiClient::list_srp_targets() {
  return parse(call("GET", kSrpTargetsPath), srp_target_list_from_json);
}

model::ApiResult<void> ApiClient::add_srp_target(const model::SrpTarget& target) {
  const auto body = call("POST", kSrpTargetsPath, print_json(to_json(target)));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<void> ApiClient::remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                                    bool force) {
  const auto body = call("DELETE", fmt::format("{}/{}/{}{}", kSrpTargetsPath, vmhba, number,
                                               force ? "?force=true" : ""));
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<std::vector<model::ScsiDevice>> ApiClient::list_scsi_devices() {
  return parse(call("GET", kScsiDevicesPath), scsi_device_list_from_json);
}

model::ApiResult<std::vector<model::LunPath>> ApiClient::list_lun_paths() {
  return parse(call("GET", kLunPathsPath), lun_path_list_from_json);
}

model::ApiResult<model::CaptureStatus> ApiClient::start_capture(const model::CaptureSpec& spec) {
  return parse(call("POST", kCapturesPath, print_json(to_json(spec))), capture_status_from_json);
}

model::ApiResult<model::CapturePackets> ApiClient::read_capture(std::uint64_t id) {
  return parse(call("GET", capture_path(id)), capture_packets_from_json);
}

model::ApiResult<model::CaptureStatus> ApiClient::end_capture(std::uint64_t id) {
  return parse(call("DELETE", capture_path(id)), capture_status_from_json);
}

model::ApiResult<std::vector<model::CaptureStatus>> ApiClient::list_captures() {
  return parse(call("GET", kCapturesPath), capture_list_from_json);
}

model::ApiResult<model::ClusterStatus> ApiClient::init_cluster(const model::ClusterInit& init) {
  return parse(call("POST", "/v1/cluster", print_json(to_json(init))), cluster_status_from_json);
}

model::ApiResult<model::JoinToken> ApiClient::make_token(const model::TokenRequest& request) {
  return parse(call("POST", "/v1/cluster/tokens", print_json(to_json(request))),
               join_token_from_json);
}

model::ApiResult<model::ClusterStatus> ApiClient::join_cluster(const std::string& token) {
  return parse(call("POST", "/v1/cluster/join", print_json({{"token", token}})),
               cluster_status_from_json);
}

model::ApiResult<void> ApiClient::leave_cluster(bool force) {
  const auto body = call("DELETE", force ? "/v1/cluster?force=true" : "/v1/cluster");
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<void> ApiClient::remove_host(const std::string& host) {
  const auto body = call("DELETE", "/v1/cluster/hosts/" + host);
  if (!body) return std::unexpected(body.error());
  return {};
}

model::ApiResult<model::AcceptSummary> ApiClient::inspect_accept() {
  return parse(call("POST", std::string(kClusterInspectAccept), print_json({{"accept", true}})),
               accept_summary_from_json);
}

model::ApiResult<model::ClusterStatus> ApiClient::accept_inventory() {
  return parse(call("POST", "/v1/cluster/restore", print_json({{"accept", true}})),
               cluster_status_from_json);
}

model::ApiResult<model::SealedBackup> ApiClient::back_up_cluster(const std::string& passphrase) {
  return parse(call("POST", "/v1/cluster/backup", print_json({{"passphrase", passphrase}})),
               sealed_backup_from_json);
}

model::ApiResult<model::BackupSummary> ApiClient::inspect_backup(
    const model::BackupRequest& asked) {
  return parse(call("POST", std::string(kClusterInspect), print_json(to_json(asked))),
               backup_summary_from_json);
}

model::ApiResult<model::ClusterStatus> ApiClient::restore_cluster(
    const model::BackupRequest& asked) {
  return parse(call("POST", std::string(kClusterRestore), print_json(to_json(asked))),
               cluster_status_from_json);
}

model::ApiResult<model::ClusterStatus> ApiClient::promote_host(const model::BackupRequest& asked) {
  return parse(call("POST", std::string(kClusterPromote), print_json(to_json(asked))),
               cluster_status_from_json);
}

model::ApiResult<model::ClusterStatus> ApiClient::cluster_status() {
  return parse(call("GET", "/v1/cluster"), cluster_status_from_json);
}

model::ApiResult<std::vector<model::ClusterAdapter>> ApiClient::cluster_adapters() {
  return parse(call("GET", std::string(kClusterAdapters)), cluster_adapters_from_json);
}

model::ApiResult<EventPage> ApiClient::events(const EventQuery& query, unsigned wait_s) {
  std::string path =
      fmt::format("{}?after={}&limit={}&wait_s={}", kEventsPath, query.after, query.most, wait_s);
  if (!query.boot.empty()) path += "&boot=" + query.boot;
  if (query.vm) path += "&vm=" + *query.vm;
  return parse(call("GET", path), event_page_from_json);
}

}  // namespace paravane::api
