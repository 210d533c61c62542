#include "api/cluster_api.h"

#include <array>
#include <utility>

#include "api/api_respond.h"
#include "api/backup_json.h"
#include "api/cluster_json.h"
#include "json/json_reader.h"
#include "model/vm.h"

namespace paravane::api {
namespace {

constexpr std::string_view kClusterHosts = "/v1/cluster/hosts/";

ApiResponse whole_cluster(model::ClusterManagement& cluster, const ApiRequest& request) {
  if (request.method == "DELETE") {
    const Result<bool> force = forced(request);
    if (!force) return invalid(force.error().message);
    return respond_done(cluster.leave_cluster(*force));
  }
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.method == "GET") return respond_with(cluster.cluster_status());
  if (request.method != "POST") return method_not_allowed(request);
  const auto init = read_body(request, cluster_init_from_json);
  if (!init) return invalid(init.error().message);
  return respond_with(cluster.init_cluster(*init), 201);
}

ApiResponse make_token(model::ClusterManagement& cluster, const ApiRequest& request) {
  const auto token = read_body(request, token_request_from_json);
  if (!token) return invalid(token.error().message);
  return respond_with(cluster.make_token(*token), 201);
}

ApiResponse join(model::ClusterManagement& cluster, const ApiRequest& request) {
  const auto token = read_body(request, join_request_from_json);
  if (!token) return invalid(token.error().message);
  return respond_with(cluster.join_cluster(*token), 201);
}

ApiResponse back_up(model::ClusterManagement& cluster, const ApiRequest& request) {
  const auto passphrase = read_body(request, passphrase_from_json);
  if (!passphrase) return invalid(passphrase.error().message);
  return respond_with(cluster.back_up_cluster(*passphrase));
}

ApiResponse inspect(model::ClusterManagement& cluster, const ApiRequest& request) {
  const auto asked = read_body(request, backup_request_from_json);
  if (!asked) return invalid(asked.error().message);
  return respond_with(cluster.inspect_backup(*asked));
}

// With a backup, or to have the others follow what this host has.
ApiResponse restore(model::ClusterManagement& cluster, const ApiRequest& request) {
  const Result<nlohmann::json> body = parse_json(request.body);
  if (body && body->is_object() && body->contains("accept")) {
    const auto accept = restore_request_from_json(*body);
    if (!accept) return invalid(accept.error().message);
    return respond_with(cluster.accept_inventory());
  }
  const auto asked = read_body(request, backup_request_from_json);
  if (!asked) return invalid(asked.error().message);
  return respond_with(cluster.restore_cluster(*asked));
}

ApiResponse inspect_accept(model::ClusterManagement& cluster, const ApiRequest& request) {
  const auto accept = read_body(request, restore_request_from_json);
  if (!accept) return invalid(accept.error().message);
  return respond_with(cluster.inspect_accept());
}

ApiResponse promote(model::ClusterManagement& cluster, const ApiRequest& request) {
  const auto asked = read_body(request, backup_request_from_json);
  if (!asked) return invalid(asked.error().message);
  return respond_with(cluster.promote_host(*asked));
}

// What takes POST alone.
using Act = ApiResponse (*)(model::ClusterManagement&, const ApiRequest&);
constexpr std::array<std::pair<std::string_view, Act>, 7> kActs = {{
    {"/v1/cluster/tokens", make_token},
    {"/v1/cluster/join", join},
    {"/v1/cluster/backup", back_up},
    {kClusterInspect, inspect},
    {kClusterRestore, restore},
    {kClusterInspectAccept, inspect_accept},
    {kClusterPromote, promote},
}};

}  // namespace

ApiResponse handle_cluster_request(model::ClusterManagement& cluster, const ApiRequest& request) {
  if (request.path == kClusterPath) return whole_cluster(cluster, request);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.path == kClusterAdapters) {
    if (request.method != "GET") return method_not_allowed(request);
    return respond_with(cluster.cluster_adapters());
  }
  for (const auto& [path, act] : kActs) {
    if (request.path != path) continue;
    return request.method == "POST" ? act(cluster, request) : method_not_allowed(request);
  }
  if (request.path.starts_with(kClusterHosts)) {
    if (request.method != "DELETE") return method_not_allowed(request);
    const std::string host = request.path.substr(kClusterHosts.size());
    if (const Status good = model::check_name(host); !good) return invalid(good.error().message);
    return respond_done(cluster.remove_host(host));
  }
  return error_response({.code = model::ApiErrorCode::kUnknownPath,
                         .message = fmt::format("unknown path {}", request.path),
                         .remedy = kSeeDocs});
}

}  // namespace paravane::api
