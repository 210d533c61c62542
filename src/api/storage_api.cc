#include "api/storage_api.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/api_respond.h"
#include "api/storage_json.h"

namespace paravane::api {
namespace {

constexpr std::string_view kVmhbaPrefix = "/v1/storage/vmhbas/";
constexpr std::string_view kSrpTargetPrefix = "/v1/storage/targets/";

ApiResponse one_vmhba(model::StorageManagement& management, const ApiRequest& request,
                      const std::string& name) {
  if (request.method != "PATCH") return method_not_allowed(request);
  if (const Status good = model::check_vmhba_name(name); !good)
    return invalid(good.error().message);
  const auto setting = read_body(request, vmhba_setting_from_json);
  if (!setting) return invalid(setting.error().message);
  return respond_with(management.set_vmhba(name, *setting));
}

ApiResponse srp_targets(model::StorageManagement& management, const ApiRequest& request) {
  if (request.method == "GET") return respond_list("targets", management.list_srp_targets());
  if (request.method != "POST") return method_not_allowed(request);
  const auto target = read_body(request, srp_target_from_json);
  if (!target) return invalid(target.error().message);
  return respond_done(management.add_srp_target(*target), 201);
}

// "vmhba32/0"
ApiResponse one_srp_target(model::StorageManagement& management, const ApiRequest& request,
                           const std::string& words) {
  if (request.method != "DELETE") return method_not_allowed(request);
  const Result<bool> force = forced(request);
  if (!force) return invalid(force.error().message);
  const std::size_t slash = words.find('/');
  const std::string vmhba = words.substr(0, slash);
  if (const Status good = model::check_vmhba_name(vmhba); !good)
    return invalid(good.error().message);
  const std::string_view digits =
      slash == std::string::npos ? std::string_view() : std::string_view(words).substr(slash + 1);
  std::uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || rest != end)
    return invalid(fmt::format("\"{}\" is not the number of a target", digits));
  return respond_done(management.remove_srp_target(vmhba, number, *force));
}

ApiResponse rescan(model::StorageManagement& management, const ApiRequest& request) {
  if (request.method == "GET") {
    const auto goes_on = management.is_scanning(std::nullopt);
    if (!goes_on) return error_response(goes_on.error());
    return respond(200, rescan_status_to_json(*goes_on));
  }
  if (request.method != "POST") return method_not_allowed(request);
  const auto what = read_body(request, rescan_request_from_json);
  if (!what) return invalid(what.error().message);
  return respond_done(management.rescan(what->vmhba));
}

}  // namespace

std::optional<ApiResponse> handle_storage_request(model::StorageManagement& management,
                                                  const ApiRequest& request) {
  const std::string& path = request.path;
  if (path.starts_with(kSrpTargetPrefix))
    return one_srp_target(management, request, path.substr(kSrpTargetPrefix.size()));
  const bool is_one = path.starts_with(kVmhbaPrefix);
  const bool is_list = path == kVmhbasPath || path == kScsiDevicesPath || path == kLunPathsPath;
  if (!is_one && !is_list && path != kSrpTargetsPath && path != kRescanPath) return std::nullopt;
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (is_one) return one_vmhba(management, request, path.substr(kVmhbaPrefix.size()));
  if (path == kSrpTargetsPath) return srp_targets(management, request);
  if (path == kRescanPath) return rescan(management, request);
  if (request.method != "GET") return method_not_allowed(request);
  if (path == kVmhbasPath) return respond_list("vmhbas", management.list_vmhbas());
  if (path == kScsiDevicesPath) return respond_list("devices", management.list_scsi_devices());
  return respond_list("paths", management.list_lun_paths());
}

}  // namespace paravane::api
