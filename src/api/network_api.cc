#include "api/network_api.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "api/api_respond.h"
#include "api/network_json.h"
#include "model/vm.h"

namespace paravane::api {

namespace {

constexpr std::string_view kSwitches = "/v1/vds";
constexpr std::string_view kSwitchPrefix = "/v1/vds/";
constexpr std::string_view kHosts = "/hosts";  // after the switch's name
constexpr std::string_view kHostPrefix = "/hosts/";
constexpr std::string_view kRepair = "/v1/repair";
constexpr std::string_view kPortGroups = "/v1/portgroups";
constexpr std::string_view kPortGroupPrefix = "/v1/portgroups/";

ApiResponse switches(model::NetworkManagement& management, const ApiRequest& request) {
  if (request.method == "GET") return respond_list("vds", management.list_switches());
  if (request.method != "POST") return method_not_allowed(request);
  const auto vds = read_body(request, switch_from_json);
  if (!vds) return invalid(vds.error().message);
  return respond_with(management.create_switch(*vds), 201);
}

ApiResponse one_switch(model::NetworkManagement& management, const ApiRequest& request,
                       const std::string& name) {
  if (request.method == "GET") return respond_with(management.find_switch(name));
  if (request.method == "DELETE") return respond_done(management.delete_switch(name));
  if (request.method != "PATCH") return method_not_allowed(request);
  const auto mtu = read_body(request, mtu_from_json);
  if (!mtu) return invalid(mtu.error().message);
  return respond_with(management.set_switch_mtu(name, *mtu));
}

ApiResponse hosts(model::NetworkManagement& management, const ApiRequest& request,
                  const std::string& name) {
  if (request.method != "POST") return method_not_allowed(request);
  const auto host = read_body(request, switch_host_from_json);
  if (!host) return invalid(host.error().message);
  return respond_with(management.add_switch_host(name, *host), 201);
}

ApiResponse one_host(model::NetworkManagement& management, const ApiRequest& request,
                     const std::string& name, const std::string& host) {
  if (request.method != "DELETE" && request.method != "PATCH") return method_not_allowed(request);
  if (const Status good = model::check_host_name(host); !good) return invalid(good.error().message);
  if (request.method == "DELETE") {
    return respond_with(management.remove_switch_host(name, host));
  }
  auto changed = read_body(request, uplinks_from_json);
  if (!changed) return invalid(changed.error().message);
  changed->host = host;
  if (const Status good = model::check_switch_host(*changed); !good)
    return invalid(good.error().message);
  return respond_with(management.set_switch_uplink(name, *changed));
}

ApiResponse below_switch(model::NetworkManagement& management, const ApiRequest& request,
                         const std::string& rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string name = rest.substr(0, slash);
  const std::string part = rest.substr(slash);
  if (const Status good = model::check_name(name); !good) return invalid(good.error().message);
  if (part.empty()) return one_switch(management, request, name);
  if (part == kHosts) return hosts(management, request, name);
  if (part.starts_with(kHostPrefix)) {
    return one_host(management, request, name, part.substr(kHostPrefix.size()));
  }
  return error_response({.code = model::ApiErrorCode::kUnknownPath,
                         .message = fmt::format("unknown path {}", request.path),
                         .remedy = kSeeDocs});
}

ApiResponse repair(model::NetworkManagement& management, const ApiRequest& request) {
  if (request.method != "POST") return method_not_allowed(request);
  return respond_with(management.repair_switches());
}

ApiResponse port_groups(model::NetworkManagement& management, const ApiRequest& request) {
  if (request.method == "GET") return respond_list("portgroups", management.list_port_groups());
  if (request.method != "POST") return method_not_allowed(request);
  const auto group = read_body(request, port_group_from_json);
  if (!group) return invalid(group.error().message);
  return respond_with(management.create_port_group(*group), 201);
}

ApiResponse one_port_group(model::NetworkManagement& management, const ApiRequest& request,
                           const std::string& name) {
  if (const Status good = model::check_name(name); !good) return invalid(good.error().message);
  if (request.method == "GET") return respond_with(management.find_port_group(name));
  if (request.method == "DELETE") return respond_done(management.delete_port_group(name));
  if (request.method != "PATCH") return method_not_allowed(request);
  const auto change = read_body(request, port_group_change_from_json);
  if (!change) return invalid(change.error().message);
  return respond_with(management.change_port_group(name, *change));
}

}  // namespace

std::optional<ApiResponse> handle_network_request(model::NetworkManagement& management,
                                                  const ApiRequest& request) {
  const std::string& path = request.path;
  const bool about_switch = path == kSwitches || path.starts_with(kSwitchPrefix);
  const bool about_group = path == kPortGroups || path.starts_with(kPortGroupPrefix);
  const bool about_repair = path == kRepair;
  if (!about_switch && !about_group && !about_repair) return std::nullopt;
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (about_repair) return repair(management, request);
  if (path == kSwitches) return switches(management, request);
  if (path == kPortGroups) return port_groups(management, request);
  if (about_switch) return below_switch(management, request, path.substr(kSwitchPrefix.size()));
  return one_port_group(management, request, path.substr(kPortGroupPrefix.size()));
}

}  // namespace paravane::api
