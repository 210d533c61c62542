#include "api/vm_check_api.h"

#include <utility>

#include "api/api_respond.h"
#include "api/vm_check_json.h"
#include "model/vm_check.h"

namespace paravane::api {
namespace {

// The same facts as in other requests; a host whose devices cannot be read has none.
model::ApiResult<model::VmCheckFacts> gather(model::Management& management,
                                             model::ClusterManagement* cluster,
                                             const std::string& name) {
  auto vm = management.find_vm(name);
  if (!vm) return std::unexpected(vm.error());
  const auto status = management.status();
  if (!status) return std::unexpected(status.error());
  auto switches = management.list_switches();
  if (!switches) return std::unexpected(switches.error());
  const auto groups = management.list_port_groups();
  if (!groups) return std::unexpected(groups.error());
  auto configuration = management.vmkernel_configuration();
  if (!configuration) return std::unexpected(configuration.error());
  model::VmCheckFacts facts{.vm = std::move(*vm),
                            .host = status->host,
                            .switches = std::move(*switches),
                            .configuration = std::move(*configuration)};
  for (const model::PortGroupStatus& group : *groups) facts.port_groups.push_back(group.spec);
  if (auto nics = management.list_nics()) facts.machine.nics = std::move(*nics);
  if (auto devices = management.list_rdma_devices()) {
    facts.machine.rdma_devices = std::move(*devices);
  }
  if (auto uplinks = management.list_ib_uplinks()) facts.ib_uplinks = std::move(*uplinks);
  if (cluster == nullptr) return facts;
  auto member = cluster->cluster_status();
  if (!member) return std::unexpected(member.error());
  facts.cluster = std::move(*member);
  return facts;
}

}  // namespace

ApiResponse handle_vm_check_request(model::Management& management,
                                    model::ClusterManagement* cluster, const ApiRequest& request,
                                    const std::string& name) {
  if (request.method != "GET") return method_not_allowed(request);
  if (const Status good = model::check_name(name); !good) return invalid(good.error().message);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  const auto facts = gather(management, cluster, name);
  if (!facts) return error_response(facts.error());
  nlohmann::json rows = nlohmann::json::array();
  for (const model::CheckRow& row : model::check_vm(*facts)) rows.push_back(to_json(row));
  return respond(200, {{"checks", std::move(rows)}});
}

}  // namespace paravane::api
