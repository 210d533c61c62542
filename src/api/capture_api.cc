#include "api/capture_api.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "api/api_respond.h"
#include "api/capture_json.h"

namespace paravane::api {
namespace {

ApiResponse respond_captures(model::CaptureManagement& management) {
  const auto captures = management.list_captures();
  if (!captures) return error_response(captures.error());
  nlohmann::json array = nlohmann::json::array();
  for (const model::CaptureStatus& one : *captures) array.push_back(to_json(one));
  return respond(200, {{"captures", std::move(array)}});
}

ApiResponse one_capture(model::CaptureManagement& management, const ApiRequest& request,
                        std::string_view number) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  if (error != std::errc() || end != number.data() + number.size()) {
    return invalid("a capture id must be a number");
  }
  if (request.method == "GET") return respond_with(management.read_capture(id));
  if (request.method == "DELETE") return respond_with(management.end_capture(id));
  return method_not_allowed(request);
}

}  // namespace

ApiResponse handle_capture_request(model::CaptureManagement& management,
                                   const ApiRequest& request) {
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.path != kCapturesPath) {
    const std::string_view path = request.path;
    return one_capture(management, request,
                       path.substr(std::string_view(kCapturesPath).size() + 1));
  }
  if (request.method == "GET") return respond_captures(management);
  if (request.method != "POST") return method_not_allowed(request);
  const auto spec = read_body(request, capture_spec_from_json);
  if (!spec) return invalid(spec.error().message);
  return respond_with(management.start_capture(*spec), 201);
}

}  // namespace paravane::api
