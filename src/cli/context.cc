#include "cli/context.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/api_error_json.h"
#include "cli/other_sockets.h"
#include "cli/version.h"
#include "json/json_text.h"
#include "text/text_cell.h"

namespace paravane::cli {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the process
bool reports_are_json = false;

// `error`: as the API has it.
void print_json_report(const nlohmann::json& error) {
  fmt::print(stderr, "{}\n", print_json(error));
}

void print_report(std::string_view code, std::string_view problem, std::string_view remedy) {
  if (reports_are_json) {
    const nlohmann::json inner = {{"code", code}, {"message", problem}, {"remedy", remedy}};
    return print_json_report({{"error", inner}});
  }
  fmt::print(stderr, "{}: {}\n", program_name(), text::printable_lines(problem));
  if (!remedy.empty()) fmt::print(stderr, "  {}\n", text::printable_lines(remedy));
}

}  // namespace

void report_as_json(bool as_json) {
  reports_are_json = as_json;
}

std::string_view program_name() {
  const std::string_view name = program_invocation_short_name;
  return std::ranges::find(kSecondNames, name) == kSecondNames.end() ? kParavane : name;
}

api::ApiClient Context::client() const {
  return api::ApiClient({.socket = socket, .version = kVersion});
}

void note_empty(bool empty, std::string_view note, const Context& context) {
  if (empty && context.format == text::TableFormat::kTable) {
    fmt::print(stderr, "{}: {}\n", program_name(), note);
  }
}

ExitStatus report(const model::ApiError& refused, const api::ApiClient& client) {
  model::ApiError error = refused;
  if (client.unreachable()) {
    for (const std::string& socket : answering_sockets()) {
      error.remedy +=
          fmt::format("\n  A daemon is listening at another socket; use: --socket {}", socket);
    }
  }
  if (reports_are_json) {
    nlohmann::json whole = api::to_json(error);
    if (client.unreachable()) whole["error"]["code"] = "unreachable";
    print_json_report(whole);
  } else {
    print_report("", error.message, error.remedy);
  }
  if (client.unreachable()) return ExitStatus::kUnreachable;
  const bool attached = error.code == model::ApiErrorCode::kVmsAttached;
  return attached ? ExitStatus::kAttached : ExitStatus::kFailed;
}

ExitStatus report_failure(std::string_view problem, std::string_view remedy) {
  print_report("failed", problem, remedy);
  return ExitStatus::kFailed;
}

ExitStatus report_usage(std::string_view problem, std::string_view remedy) {
  print_report("usage", problem, remedy);
  return ExitStatus::kUsage;
}

}  // namespace paravane::cli
