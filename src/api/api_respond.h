// Helpers for the functions that handle API requests. They read the query and the body of a
// request, and create responses.
//
// Stateless, any thread.

#pragma once

#include <fmt/core.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_error_json.h"
#include "api/api_handler.h"
#include "api/backup_json.h"
#include "api/capture_json.h"
#include "api/cluster_json.h"
#include "api/event_json.h"
#include "api/ib_module_json.h"
#include "api/impairment_json.h"
#include "api/infiniband_json.h"
#include "api/machine_json.h"
#include "api/network_json.h"
#include "api/nic_dcb_json.h"
#include "api/stats_json.h"
#include "api/storage_json.h"
#include "api/vm_check_json.h"
#include "api/vm_json.h"
#include "api/vm_machine_json.h"
#include "api/vmkernel_json.h"
#include "json/json_text.h"

namespace paravane::api {

inline constexpr const char* kSeeDocs =
    "See /usr/share/doc/paravane/docs/api.md for the supported requests.";

inline ApiResponse respond(int status, const nlohmann::json& value) {
  return {.status = status, .body = print_json(value) + "\n"};
}

inline ApiResponse invalid(std::string message) {
  return error_response({.code = model::ApiErrorCode::kInvalidRequest,
                         .message = std::move(message),
                         .remedy = kSeeDocs});
}

inline ApiResponse method_not_allowed(const ApiRequest& request) {
  return error_response({.code = model::ApiErrorCode::kMethodNotAllowed,
                         .message = fmt::format("{} does not support this method", request.path),
                         .remedy = kSeeDocs});
}

// Describes what is wrong with the query, which is a key that is not in `allowed` or a key that is
// given twice; nullopt: the query is valid.
inline std::optional<std::string> query_problem(const ApiRequest& request,
                                                std::initializer_list<std::string_view> allowed) {
  for (const auto& [key, value] : request.query) {
    bool known = false;
    for (const std::string_view name : allowed) known = known || name == key;
    if (!known) return fmt::format("unknown query parameter \"{}\"", key);
    if (request.query.count(key) > 1)
      return fmt::format("query parameter \"{}\" is specified twice", key);
  }
  return std::nullopt;
}

inline std::optional<std::string> query_value(const ApiRequest& request, const char* key) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return std::nullopt;
  return found->second;
}

// The value of "force" in the query, which may contain no other key. Errors: kInvalidArgument.
inline Result<bool> forced(const ApiRequest& request) {
  if (const auto problem = query_problem(request, {"force"})) {
    return fail(Errc::kInvalidArgument, *problem);
  }
  const std::string force = query_value(request, "force").value_or("false");
  if (force == "true" || force == "false") return force == "true";
  return fail(Errc::kInvalidArgument, "\"force\" must be true or false");
}

template <typename T>
Result<T> read_body(const ApiRequest& request, Result<T> (*read)(const nlohmann::json&)) {
  const Result<nlohmann::json> body = parse_json(request.body);
  if (body) return read(*body);
  return fail(Errc::kInvalidArgument, "request body: " + body.error().message);
}

// Needs to_json() of T, which the headers above declare: a value's own namespace, model, has none.
template <typename T>
inline ApiResponse respond_with(const model::ApiResult<T>& result, int status = 200) {
  if (!result) return error_response(result.error());
  return respond(status, to_json(*result));
}

// {"vms": [VM, ...]} and such.
template <typename T>
ApiResponse respond_list(const char* key, const model::ApiResult<std::vector<T>>& list) {
  if (!list) return error_response(list.error());
  nlohmann::json array = nlohmann::json::array();
  for (const T& one : *list) array.push_back(to_json(one));
  return respond(200, {{key, std::move(array)}});
}

inline ApiResponse respond_done(const model::ApiResult<void>& result, int status = 200) {
  if (!result) return error_response(result.error());
  return respond(status, nlohmann::json::object());
}

}  // namespace paravane::api
