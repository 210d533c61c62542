#include "api/api_error_json.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::api {

using nlohmann::json;

namespace {

struct CodeRow {
  model::ApiErrorCode code;
  std::string_view name;
  int status;
};
constexpr std::array kCodes = {
    CodeRow{model::ApiErrorCode::kInvalidRequest, "invalid_request", 400},
    CodeRow{model::ApiErrorCode::kDenied, "denied", 403},
    CodeRow{model::ApiErrorCode::kNotFound, "not_found", 404},
    CodeRow{model::ApiErrorCode::kUnknownPath, "unknown_path", 404},
    CodeRow{model::ApiErrorCode::kMethodNotAllowed, "method_not_allowed", 405},
    CodeRow{model::ApiErrorCode::kTooLarge, "too_large", 413},
    CodeRow{model::ApiErrorCode::kExists, "exists", 409},
    CodeRow{model::ApiErrorCode::kChanged, "changed", 409},
    CodeRow{model::ApiErrorCode::kMacInUse, "mac_in_use", 409},
    CodeRow{model::ApiErrorCode::kVmsAttached, "vms_attached", 409},
    CodeRow{model::ApiErrorCode::kLimitReached, "limit_reached", 409},
    CodeRow{model::ApiErrorCode::kInUse, "in_use", 409},
    CodeRow{model::ApiErrorCode::kBusy, "busy", 503},
    CodeRow{model::ApiErrorCode::kClusterAway, "cluster_away", 503},
    CodeRow{model::ApiErrorCode::kNoSpace, "no_space", 507},
    CodeRow{model::ApiErrorCode::kStore, "store", 500},
    CodeRow{model::ApiErrorCode::kSocket, "socket", 500},
    CodeRow{model::ApiErrorCode::kInternal, "internal", 500},
};

const CodeRow& row_of(model::ApiErrorCode code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row;
  }
  return kCodes.back();
}

model::ApiErrorCode code_of(std::string_view name) {
  for (const CodeRow& row : kCodes) {
    if (row.name == name) return row.code;
  }
  return model::ApiErrorCode::kInternal;
}

std::vector<std::string> read_names(const json* array) {
  std::vector<std::string> names;
  if (array == nullptr) return names;
  for (const json& name : *array) {
    if (name.is_string()) names.push_back(name.get_ref<const std::string&>());
  }
  return names;
}

}  // namespace

std::string_view to_string(model::ApiErrorCode code) {
  return row_of(code).name;
}
int http_status(model::ApiErrorCode code) {
  return row_of(code).status;
}

json to_json(const model::ApiError& error) {
  json inner = {
      {"code", to_string(error.code)}, {"message", error.message}, {"remedy", error.remedy}};
  if (!error.vms.empty()) inner["vms"] = error.vms;
  return {{"error", std::move(inner)}};
}

model::ApiError api_error_from_body(int status, std::string_view body) {
  const Result<json> value = parse_json(body);
  if (value && value->is_object() && value->contains("error") && value->at("error").is_object()) {
    JsonReader reader(value->at("error"), "error");
    return {.code = code_of(reader.text("code").value_or("")),
            .message = reader.text("message").value_or(""),
            .remedy = reader.text("remedy").value_or(""),
            .vms = read_names(reader.array("vms"))};
  }
  return {.code = model::ApiErrorCode::kInternal,
          .message = fmt::format("the daemon responded with HTTP status {}", status),
          .remedy = "Check that the socket belongs to paravaned."};
}

}  // namespace paravane::api
