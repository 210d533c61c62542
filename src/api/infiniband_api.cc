#include "api/infiniband_api.h"

#include <string>
#include <string_view>

#include "api/api_respond.h"

namespace paravane::api {
namespace {

constexpr std::string_view kIbAdapterPrefix = "/v1/infiniband/adapters/";

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

}  // namespace

std::optional<ApiResponse> handle_infiniband_request(model::InfinibandManagement& management,
                                                     const ApiRequest& request) {
  const std::string& path = request.path;
  const bool is_one = path.starts_with(kIbAdapterPrefix);
  const bool is_known = is_one || path == kIbAdaptersPath || path == kIbUplinksPath ||
                        path == kIbFabricPath || path == kIbRestartPath;
  if (!is_known) return std::nullopt;
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (is_one) return one_ib_adapter(management, request, path.substr(kIbAdapterPrefix.size()));
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
