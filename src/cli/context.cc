#include "cli/context.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>

#include "cli/version.h"
#include "text/text_cell.h"

namespace paravane::cli {

using text::printable_lines;

std::string_view program_name() {
  const std::string_view name = program_invocation_short_name;
  const bool known = name == kEsxcli || name == kEsxcfgNics || name == kEsxcfgVmknic;
  return known ? name : kParavane;
}

api::ApiClient Context::client() const {
  return api::ApiClient({.socket = socket, .version = kVersion});
}

ExitStatus report(const model::ApiError& error, const api::ApiClient& client) {
  const ExitStatus failed = report_failure(error.message, error.remedy);
  if (client.unreachable()) return ExitStatus::kUnreachable;
  return error.code == model::ApiErrorCode::kVmsAttached ? ExitStatus::kAttached : failed;
}

ExitStatus report_failure(std::string_view problem, std::string_view remedy) {
  fmt::print(stderr, "{}: {}\n", program_name(), text::printable_lines(problem));
  if (!remedy.empty()) fmt::print(stderr, "  {}\n", text::printable_lines(remedy));
  return ExitStatus::kFailed;
}

ExitStatus report_usage(std::string_view problem) {
  fmt::print(stderr, "{}: {}\n", program_name(), text::printable_lines(problem));
  return ExitStatus::kUsage;
}

}  // namespace paravane::cli
