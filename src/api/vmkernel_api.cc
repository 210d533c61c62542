#include "api/vmkernel_api.h"

#include <utility>

#include "api/api_respond.h"
#include "api/vmkernel_json.h"

namespace paravane::api {
namespace {

constexpr std::string_view kVmknics = "/vmknics";  // each after kVmkernelConfigurationPath
constexpr std::string_view kVmknicPrefix = "/vmknics/";
constexpr std::string_view kSettings = "/settings";
constexpr std::string_view kRulesets = "/rulesets";

ApiResponse add_vmknic(model::VmkernelManagement& management, const ApiRequest& request) {
  if (request.method != "POST") return method_not_allowed(request);
  const auto vmknic = read_body(request, vmknic_from_json);
  if (!vmknic) return invalid(vmknic.error().message);
  return respond_with(management.add_vmknic(*vmknic), 201);
}

ApiResponse one_vmknic(model::VmkernelManagement& management, const ApiRequest& request,
                       const std::string& name) {
  if (const Status good = model::check_vmknic_name(name); !good)
    return invalid(good.error().message);
  if (request.method == "DELETE") return respond_done(management.remove_vmknic(name));
  if (request.method != "PATCH") return method_not_allowed(request);
  const auto change = read_body(request, vmknic_change_from_json);
  if (!change) return invalid(change.error().message);
  return respond_with(management.set_vmknic(name, *change));
}

ApiResponse set_setting(model::VmkernelManagement& management, const ApiRequest& request) {
  if (request.method != "PATCH") return method_not_allowed(request);
  const auto setting = read_body(request, setting_from_json);
  if (!setting) return invalid(setting.error().message);
  return respond_done(management.set_setting(*setting));
}

ApiResponse set_ruleset(model::VmkernelManagement& management, const ApiRequest& request) {
  if (request.method != "PATCH") return method_not_allowed(request);
  const auto ruleset = read_body(request, ruleset_from_json);
  if (!ruleset) return invalid(ruleset.error().message);
  return respond_done(management.set_ruleset(*ruleset));
}

}  // namespace

std::optional<ApiResponse> handle_host_configuration_request(model::VmkernelManagement& management,
                                                             const ApiRequest& request) {
  if (!request.path.starts_with(kVmkernelConfigurationPath)) return std::nullopt;
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  const std::string rest = request.path.substr(kVmkernelConfigurationPath.size());
  if (rest.empty()) {
    if (request.method != "GET") return method_not_allowed(request);
    return respond_with(management.vmkernel_configuration());
  }
  if (rest == kVmknics) return add_vmknic(management, request);
  if (rest.starts_with(kVmknicPrefix)) {
    return one_vmknic(management, request, rest.substr(kVmknicPrefix.size()));
  }
  if (rest == kSettings) return set_setting(management, request);
  if (rest == kRulesets) return set_ruleset(management, request);
  return std::nullopt;
}

}  // namespace paravane::api
