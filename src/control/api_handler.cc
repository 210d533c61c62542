#include "control/api_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "control/json_reader.h"
#include "control/stats_json.h"
#include "control/vm_json.h"

namespace paravane::control {

using nlohmann::json;

namespace {

constexpr std::string_view kVmPrefix = "/v1/vms/";
constexpr std::string_view kAdapters = "/adapters";  // after the VM's name
constexpr std::string_view kAdapterPrefix = "/adapters/";
static_assert(kMaxAdapters < 10);  // a number is one digit
constexpr const char* kSeeDocs = "See docs/api.md for the requests there are.";

ApiResponse respond(int status, const json& value) {
  return {.status = status, .body = print_json(value) + "\n"};
}

ApiResponse invalid(std::string message) {
  return error_response(
      {.code = ApiErrorCode::kInvalidRequest, .message = std::move(message), .remedy = kSeeDocs});
}

ApiResponse method_not_allowed(const ApiRequest& request) {
  return error_response({.code = ApiErrorCode::kMethodNotAllowed,
                         .message = fmt::format("{} does not take this method", request.path),
                         .remedy = kSeeDocs});
}

// What is wrong with the query: a key that is not in `allowed`, or one twice.
std::optional<std::string> query_problem(const ApiRequest& request,
                                         std::initializer_list<std::string_view> allowed) {
  for (const auto& [key, value] : request.query) {
    bool known = false;
    for (const std::string_view name : allowed) known = known || name == key;
    if (!known) return fmt::format("unknown query parameter \"{}\"", key);
    if (request.query.count(key) > 1)
      return fmt::format("query parameter \"{}\" stands twice", key);
  }
  return std::nullopt;
}

std::optional<std::string> query_value(const ApiRequest& request, const char* key) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return std::nullopt;
  return found->second;
}

// ?force=true, and nothing else. Errors: kInvalidArgument.
Result<bool> forced(const ApiRequest& request) {
  if (const auto problem = query_problem(request, {"force"})) {
    return fail(Errc::kInvalidArgument, *problem);
  }
  const std::string force = query_value(request, "force").value_or("false");
  if (force == "true" || force == "false") return force == "true";
  return fail(Errc::kInvalidArgument, "\"force\" must be true or false");
}

template <typename T>
Result<T> read_body(const ApiRequest& request, Result<T> (*read)(const json&)) {
  const Result<json> body = parse_json(request.body);
  if (body) return read(*body);
  return fail(Errc::kInvalidArgument, "request body: " + body.error().message);
}

template <typename T>
ApiResponse respond_with(const ApiResult<T>& result, int status = 200) {
  if (!result) return error_response(result.error());
  return respond(status, to_json(*result));
}

ApiResponse respond_done(const ApiResult<void>& result, int status = 200) {
  if (!result) return error_response(result.error());
  return respond(status, json::object());
}

}  // namespace

ApiResponse error_response(const ApiError& error) {
  return respond(http_status(error.code), to_json(error));
}

ApiResponse ApiHandler::handle(const ApiRequest& request) {
  if (request.path.size() > kMaxApiPath || request.body.size() > kMaxApiBody) {
    return error_response(
        {.code = ApiErrorCode::kTooLarge,
         .message = "the request is too large",
         .remedy = fmt::format("A path may have {} bytes, a body {}.", kMaxApiPath, kMaxApiBody)});
  }
  if (request.path == "/v1/vms") return vms(request);
  if (request.path == "/v1/stats") return stats(request);
  if (request.path == "/v1/daemon/stop") return stop(request);
  if (request.path == "/v1/status") {
    if (request.method != "GET") return method_not_allowed(request);
    if (const auto problem = query_problem(request, {})) return invalid(*problem);
    return respond_with(management_.status());
  }
  if (request.path.starts_with(kVmPrefix)) {
    const std::string name = request.path.substr(kVmPrefix.size());
    const std::size_t slash = name.find('/');
    const std::string rest = name.substr(std::min(slash, name.size()));
    if (rest == kAdapters) return adapters(request, name.substr(0, slash));
    if (rest.starts_with(kAdapterPrefix)) {
      return one_adapter(request, name.substr(0, slash), rest.substr(kAdapterPrefix.size()));
    }
    return one_vm(request, name);
  }
  return error_response({.code = ApiErrorCode::kNotFound,
                         .message = fmt::format("there is nothing at {}", request.path),
                         .remedy = kSeeDocs});
}

ApiResponse ApiHandler::vms(const ApiRequest& request) {
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.method == "GET") {
    const auto list = management_.list_vms();
    if (!list) return error_response(list.error());
    json array = json::array();
    for (const VmStatus& vm : *list) array.push_back(to_json(vm));
    return respond(200, {{"vms", std::move(array)}});
  }
  if (request.method != "POST") return method_not_allowed(request);
  const auto spec = read_body(request, vm_spec_from_json);
  if (!spec) return invalid(spec.error().message);
  return respond_with(management_.add_vm(*spec), 201);
}

ApiResponse ApiHandler::one_vm(const ApiRequest& request, const std::string& name) {
  const bool known =
      request.method == "GET" || request.method == "PATCH" || request.method == "DELETE";
  if (!known) return method_not_allowed(request);
  if (const Status good = check_name(name); !good) return invalid(good.error().message);
  if (request.method == "DELETE") {
    const Result<bool> force = forced(request);
    if (!force) return invalid(force.error().message);
    return respond_done(management_.remove_vm(name, *force));
  }
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.method == "GET") return respond_with(management_.find_vm(name));
  const auto change = read_body(request, vm_change_from_json);
  if (!change) return invalid(change.error().message);
  return respond_with(management_.set_vm(name, *change));
}

ApiResponse ApiHandler::adapters(const ApiRequest& request, const std::string& name) {
  if (request.method != "POST") return method_not_allowed(request);
  if (const Status good = check_name(name); !good) return invalid(good.error().message);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  const auto adapter = read_body(request, adapter_request_from_json);
  if (!adapter) return invalid(adapter.error().message);
  return respond_with(management_.add_adapter(name, *adapter), 201);
}

ApiResponse ApiHandler::one_adapter(const ApiRequest& request, const std::string& name,
                                    const std::string& number) {
  if (request.method != "DELETE" && request.method != "PATCH") return method_not_allowed(request);
  if (const Status good = check_name(name); !good) return invalid(good.error().message);
  if (number.size() != 1 || number[0] < '1' || number[0] > '0' + int{kMaxAdapters}) {
    return invalid(fmt::format("an adapter's number is 1 to {}", kMaxAdapters));
  }
  const auto which = static_cast<std::uint32_t>(number[0] - '0');
  if (request.method == "PATCH") {
    if (const auto problem = query_problem(request, {})) return invalid(*problem);
    const auto connected = read_body(request, connected_from_json);
    if (!connected) return invalid(connected.error().message);
    return respond_with(management_.set_connected(name, which, *connected));
  }
  const Result<bool> force = forced(request);
  if (!force) return invalid(force.error().message);
  return respond_with(management_.remove_adapter(name, which, *force));
}

ApiResponse ApiHandler::stats(const ApiRequest& request) {
  if (request.method != "GET") return method_not_allowed(request);
  if (const auto problem = query_problem(request, {"vm"})) return invalid(*problem);
  const auto name = query_value(request, "vm");
  if (name) {
    if (const Status good = check_name(*name); !good) return invalid(good.error().message);
  }
  return respond_with(management_.stats(name));
}

ApiResponse ApiHandler::stop(const ApiRequest& request) {
  if (request.method != "POST") return method_not_allowed(request);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  bool force = false;
  if (!request.body.empty()) {
    const Result<json> body = parse_json(request.body);
    if (!body) return invalid("request body: " + body.error().message);
    JsonReader reader(*body, "request");
    force = reader.boolean("force").value_or(false);
    if (const Status good = reader.finish(); !good) return invalid(good.error().message);
  }
  return respond_done(management_.stop(force), 202);
}

}  // namespace paravane::control
