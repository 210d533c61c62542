#include "api/machine_api.h"

#include <string>
#include <string_view>

#include "api/api_respond.h"
#include "api/machine_json.h"

namespace paravane::api {
namespace {

constexpr std::string_view kDevicePrefix = "/v1/host/rdma-devices/";
constexpr std::string_view kStats = "/stats";  // after the device's name

template <typename T>
ApiResponse respond_list(const char* key, const model::ApiResult<std::vector<T>>& list) {
  if (!list) return error_response(list.error());
  nlohmann::json array = nlohmann::json::array();
  for (const T& one : *list) array.push_back(to_json(one));
  return respond(200, {{key, std::move(array)}});
}

}  // namespace

std::optional<ApiResponse> handle_machine_request(model::MachineManagement& management,
                                                  const ApiRequest& request) {
  const std::string_view path = request.path;
  const bool of_device = path.starts_with(kDevicePrefix) && path.ends_with(kStats) &&
                         path.size() > kDevicePrefix.size() + kStats.size();
  if (path != kNicsPath && path != kRdmaDevicesPath && !of_device) return std::nullopt;
  if (request.method != "GET") return method_not_allowed(request);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (path == kNicsPath) return respond_list("nics", management.list_nics());
  if (path == kRdmaDevicesPath) {
    return respond_list("rdma_devices", management.list_rdma_devices());
  }
  const std::string name(
      path.substr(kDevicePrefix.size(), path.size() - kDevicePrefix.size() - kStats.size()));
  if (const Status good = model::check_rdma_name(name); !good) return invalid(good.error().message);
  return respond_with(management.rdma_device_stats(name));
}

}  // namespace paravane::api
