#include "api/machine_api.h"

#include <string>
#include <string_view>

#include "api/api_respond.h"
#include "api/machine_json.h"
#include "api/nic_dcb_json.h"
#include "model/distributed_switch.h"

namespace paravane::api {
namespace {

constexpr std::string_view kDevicePrefix = "/v1/host/rdma-devices/";
constexpr std::string_view kStats = "/stats";  // after the device's name
constexpr std::string_view kNicPrefix = "/v1/host/nics/";
constexpr std::string_view kDcb = "/dcb";  // after the NIC's name

// What stands between the two; empty: the path is another.
std::string name_within(std::string_view path, std::string_view prefix, std::string_view suffix) {
  const bool is_form = path.starts_with(prefix) && path.ends_with(suffix) &&
                       path.size() > prefix.size() + suffix.size();
  if (!is_form) return {};
  return std::string(path.substr(prefix.size(), path.size() - prefix.size() - suffix.size()));
}

}  // namespace

std::optional<ApiResponse> handle_machine_request(model::MachineManagement& management,
                                                  const ApiRequest& request) {
  const std::string_view path = request.path;
  const std::string device = name_within(path, kDevicePrefix, kStats);
  const std::string nic = name_within(path, kNicPrefix, kDcb);
  const bool is_list = path == kNicsPath || path == kRdmaDevicesPath;
  if (!is_list && device.empty() && nic.empty()) return std::nullopt;
  if (request.method != "GET") return method_not_allowed(request);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (path == kNicsPath) return respond_list("nics", management.list_nics());
  if (path == kRdmaDevicesPath) {
    return respond_list("rdma_devices", management.list_rdma_devices());
  }
  if (!nic.empty()) {
    const Status good = model::check_interface_name(nic);
    return good ? respond_with(management.nic_dcb(nic)) : invalid(good.error().message);
  }
  const Status good = model::check_rdma_name(device);
  return good ? respond_with(management.rdma_device_stats(device)) : invalid(good.error().message);
}

}  // namespace paravane::api
