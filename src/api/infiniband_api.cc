#include "api/infiniband_api.h"

#include <string>
#include <string_view>

#include "api/api_respond.h"
#include "api/ib_module_json.h"
#include "model/distributed_switch.h"

namespace paravane::api {
namespace {

constexpr std::string_view kIbAdapterPrefix = "/v1/infiniband/adapters/";
constexpr std::string_view kIbManagerPrefix = "/v1/infiniband/managers/";
constexpr std::string_view kIbModulePrefix = "/v1/infiniband/modules/";

ApiResponse ib_adapters(model::InfinibandManagement& management, const ApiRequest& request) {
  if (request.method == "GET") return respond_list("adapters", management.list_ib_adapters());
  if (request.method != "POST") return method_not_allowed(request);
  const auto adapter = read_body(request, ib_adapter_from_json);
  if (!adapter) return invalid(adapter.error().message);
  return respond_with(management.add_ib_adapter(*adapter), 201);
}

ApiResponse one_ib_adapter(model::InfinibandManagement& management, const ApiRequest& request,
                           const std::string& name) {
  if (request.method != "DELETE") return method_not_allowed(request);
  if (const Status good = model::check_ib_adapter_name(name); !good)
    return invalid(good.error().message);
  return respond_done(management.remove_ib_adapter(name));
}

ApiResponse ib_managers(model::InfinibandManagement& management, const ApiRequest& request) {
  if (request.method == "GET") return respond_list("managers", management.list_ib_managers());
  if (request.method != "POST") return method_not_allowed(request);
  const auto manager = read_body(request, new_ib_manager_from_json);
  if (!manager) return invalid(manager.error().message);
  return respond_done(management.add_ib_manager(manager->host));
}

ApiResponse one_ib_manager(model::InfinibandManagement& management, const ApiRequest& request,
                           const std::string& host) {
  if (request.method != "DELETE") return method_not_allowed(request);
  if (const Status good = model::check_host_name(host); !good) return invalid(good.error().message);
  return respond_done(management.remove_ib_manager(host));
}

ApiResponse one_ib_module(model::InfinibandManagement& management, const ApiRequest& request,
                          const std::string& name) {
  if (request.method != "PATCH") return method_not_allowed(request);
  const auto change = read_body(request, ib_module_change_from_json);
  if (!change) return invalid(change.error().message);
  return respond_with(management.change_ib_module(name, *change));
}

}  // namespace

std::optional<ApiResponse> handle_infiniband_request(model::InfinibandManagement& management,
                                                     const ApiRequest& request) {
  const std::string& path = request.path;
  const bool is_one = path.starts_with(kIbAdapterPrefix);
  const bool is_manager = path.starts_with(kIbManagerPrefix);
  const bool is_module = path.starts_with(kIbModulePrefix);
  const bool is_known = is_one || is_manager || is_module || path == kIbAdaptersPath ||
                        path == kIbUplinksPath || path == kIbFabricPath ||
                        path == kIbManagersPath || path == kIbModulesPath || path == kIbRestartPath;
  if (!is_known) return std::nullopt;
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (is_one) return one_ib_adapter(management, request, path.substr(kIbAdapterPrefix.size()));
  if (is_manager) return one_ib_manager(management, request, path.substr(kIbManagerPrefix.size()));
  if (is_module) return one_ib_module(management, request, path.substr(kIbModulePrefix.size()));
  if (path == kIbManagersPath) return ib_managers(management, request);
  if (path == kIbModulesPath) {
    if (request.method != "GET") return method_not_allowed(request);
    return respond_list("modules", management.list_ib_modules());
  }
  if (path == kIbAdaptersPath) return ib_adapters(management, request);
  if (path == kIbUplinksPath) {
    if (request.method != "GET") return method_not_allowed(request);
    return respond_list("uplinks", management.list_ib_uplinks());
  }
  if (path == kIbFabricPath) {
    if (request.method != "GET") return method_not_allowed(request);
    return respond_with(management.ib_fabric());
  }
  if (request.method != "POST") return method_not_allowed(request);
  return respond_done(management.restart_infiniband());
}

}  // namespace paravane::api
