#include "api/impairment_api.h"

#include <utility>

#include "api/api_respond.h"
#include "api/impairment_json.h"
#include "model/vm.h"

namespace paravane::api {
namespace {

ApiResponse respond_impairments(model::ImpairmentManagement& management) {
  const auto impairments = management.list_impairments();
  if (!impairments) return error_response(impairments.error());
  nlohmann::json array = nlohmann::json::array();
  for (const model::ImpairmentStatus& one : *impairments) array.push_back(to_json(one));
  return respond(200, {{"impairments", std::move(array)}});
}

ApiResponse clear(model::ImpairmentManagement& management, const ApiRequest& request) {
  if (const auto problem = query_problem(request, {"vm"})) return invalid(*problem);
  const auto vm = query_value(request, "vm");
  if (vm) {
    if (const Status good = model::check_name(*vm); !good) return invalid(good.error().message);
  }
  return respond_done(management.clear_impairments(vm));
}

}  // namespace

ApiResponse handle_impairment_request(model::ImpairmentManagement& management,
                                      const ApiRequest& request) {
  if (request.method == "DELETE") return clear(management, request);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.method == "GET") return respond_impairments(management);
  if (request.method != "POST") return method_not_allowed(request);
  const auto impairment = read_body(request, impairment_from_json);
  if (!impairment) return invalid(impairment.error().message);
  return respond_with(management.set_impairment(*impairment), 201);
}

}  // namespace paravane::api
