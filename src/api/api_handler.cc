#include "api/api_handler.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "api/api_error_json.h"
#include "api/api_respond.h"
#include "api/capture_api.h"
#include "api/cluster_api.h"
#include "api/events_api.h"
#include "api/impairment_api.h"
#include "api/infiniband_api.h"
#include "api/machine_api.h"
#include "api/network_api.h"
#include "api/stats_json.h"
#include "api/storage_api.h"
#include "api/vm_check_api.h"
#include "api/vm_json.h"
#include "api/vmkernel_api.h"
#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::api {

using nlohmann::json;

namespace {

constexpr std::string_view kVmPrefix = "/v1/vms/";
constexpr std::string_view kCapturePrefix = "/v1/captures/";
constexpr std::string_view kAdapters = "/adapters";  // after the VM's name
constexpr std::string_view kAdapterPrefix = "/adapters/";
static_assert(model::kMaxAdapters < 10);  // a number is one digit

}  // namespace

ApiResponse error_response(const model::ApiError& error) {
  return respond(http_status(error.code), to_json(error));
}

ApiResponse ApiHandler::handle(const ApiRequest& request) {
  const std::size_t most = max_api_body(request.path);
  if (request.path.size() > kMaxApiPath || request.body.size() > most) {
    return error_response(
        {.code = model::ApiErrorCode::kTooLarge,
         .message = "the request is too large",
         .remedy = fmt::format("The limit is {} bytes for a path and {} bytes for a body.",
                               kMaxApiPath, most)});
  }
  if (request.path == "/v1/vms") return vms(request);
  if (request.path == "/v1/stats") return stats(request);
  if (request.path == "/v1/daemon/stop") return stop(request);
  if (request.path == "/v1/daemon/upgrade") return upgrade(request);
  if (request.path == kImpairmentsPath) return handle_impairment_request(management_, request);
  if (events_ != nullptr && request.path == kEventsPath) {
    return handle_events_request(*events_, request);
  }
  if (request.path == kCapturesPath || request.path.starts_with(kCapturePrefix)) {
    return handle_capture_request(management_, request);
  }
  if (request.path == "/v1/status") {
    if (request.method != "GET") return method_not_allowed(request);
    if (const auto problem = query_problem(request, {})) return invalid(*problem);
    return respond_with(management_.status());
  }
  if (cluster_ != nullptr && request.path.starts_with(kClusterPath)) {
    return handle_cluster_request(*cluster_, request);
  }
  if (request.path.starts_with(kVmPrefix)) {
    const std::string path = request.path.substr(kVmPrefix.size());
    const std::string name = path.substr(0, path.find('/'));
    const std::string rest = path.substr(name.size());
    ApiResponse response = about_vm(request, name, rest);
    if (response.status != http_status(model::ApiErrorCode::kNotFound)) return response;
    return elsewhere(name).value_or(std::move(response));
  }
  if (auto response = handle_machine_request(management_, request)) return std::move(*response);
  if (auto response = handle_network_request(management_, request)) return std::move(*response);
  if (auto response = handle_host_configuration_request(management_, request)) {
    return std::move(*response);
  }
  if (auto response = handle_infiniband_request(management_, request)) return std::move(*response);
  if (auto response = handle_storage_request(management_, request)) return std::move(*response);
  return error_response({.code = model::ApiErrorCode::kUnknownPath,
                         .message = fmt::format("unknown path {}", request.path),
                         .remedy = kSeeDocs});
}

ApiResponse ApiHandler::vms(const ApiRequest& request) {
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  if (request.method == "GET") {
    const auto list = management_.list_vms();
    if (!list) return error_response(list.error());
    json array = json::array();
    for (const model::VmStatus& vm : *list) array.push_back(to_json(vm));
    return respond(200, {{"vms", std::move(array)}});
  }
  if (request.method != "POST") return method_not_allowed(request);
  const auto spec = read_body(request, vm_spec_from_json);
  if (!spec) return invalid(spec.error().message);
  return respond_with(management_.add_vm(*spec), 201);
}

ApiResponse ApiHandler::about_vm(const ApiRequest& request, const std::string& name,
                                 const std::string& rest) {
  if (rest == kVmCheck) return handle_vm_check_request(management_, cluster_, request, name);
  if (rest == kAdapters) return adapters(request, name);
  if (rest.starts_with(kAdapterPrefix)) {
    return one_adapter(request, name, rest.substr(kAdapterPrefix.size()));
  }
  return one_vm(request, name + rest);
}

std::optional<ApiResponse> ApiHandler::elsewhere(const std::string& name) {
  if (cluster_ == nullptr || management_.find_vm(name)) return std::nullopt;
  const auto adapters = cluster_->cluster_adapters();
  if (!adapters) return std::nullopt;
  const auto found = std::ranges::find(
      *adapters, name, [](const model::ClusterAdapter& one) { return one.adapter.vm; });
  if (found == adapters->end()) return std::nullopt;
  return error_response(
      {.code = model::ApiErrorCode::kNotFound,
       .message = fmt::format("vm {} is on host {}", name, found->host),
       .remedy = fmt::format("Run the command on host {}. List the VMs of all hosts with: "
                             "paravane vm list --all-hosts",
                             found->host)});
}

ApiResponse ApiHandler::one_vm(const ApiRequest& request, const std::string& name) {
  const bool known =
      request.method == "GET" || request.method == "PATCH" || request.method == "DELETE";
  if (!known) return method_not_allowed(request);
  if (const Status good = model::check_name(name); !good) return invalid(good.error().message);
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
  if (const Status good = model::check_name(name); !good) return invalid(good.error().message);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  const auto adapter = read_body(request, adapter_request_from_json);
  if (!adapter) return invalid(adapter.error().message);
  return respond_with(management_.add_adapter(name, *adapter), 201);
}

ApiResponse ApiHandler::one_adapter(const ApiRequest& request, const std::string& name,
                                    const std::string& number) {
  if (request.method != "DELETE" && request.method != "PATCH") return method_not_allowed(request);
  if (const Status good = model::check_name(name); !good) return invalid(good.error().message);
  if (number.size() != 1 || number[0] < '1' || number[0] > '0' + int{model::kMaxAdapters}) {
    return invalid(fmt::format("an adapter number must be 1 to {}", model::kMaxAdapters));
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
    if (const Status good = model::check_name(*name); !good) return invalid(good.error().message);
  }
  return respond_with(management_.stats(name));
}

ApiResponse ApiHandler::stop(const ApiRequest& request) {
  return order(request, "force", [this](bool force) { return management_.stop(force); });
}

ApiResponse ApiHandler::upgrade(const ApiRequest& request) {
  return order(request, "check", [this](bool check) { return management_.upgrade(check); });
}

ApiResponse ApiHandler::order(const ApiRequest& request, const char* option,
                              const std::function<model::ApiResult<void>(bool)>& act) {
  if (request.method != "POST") return method_not_allowed(request);
  if (const auto problem = query_problem(request, {})) return invalid(*problem);
  bool is_set = false;
  if (!request.body.empty()) {
    const Result<json> body = parse_json(request.body);
    if (!body) return invalid("request body: " + body.error().message);
    JsonReader reader(*body, "request");
    is_set = reader.boolean(option).value_or(false);
    if (const Status good = reader.finish(); !good) return invalid(good.error().message);
  }
  return respond_done(act(is_set), 202);
}

}  // namespace paravane::api
