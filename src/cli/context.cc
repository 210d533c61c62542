#include "cli/context.h"

#include <fmt/format.h>

#include <cstdio>

namespace paravane::cli {

ExitStatus report(const control::ApiError& error, const control::ApiClient& client) {
  fmt::print(stderr, "paravane: {}\n", error.message);
  if (!error.remedy.empty()) fmt::print(stderr, "  {}\n", error.remedy);
  if (client.unreachable()) return ExitStatus::kUnreachable;
  return error.code == control::ApiErrorCode::kVmsAttached ? ExitStatus::kAttached
                                                           : ExitStatus::kFailed;
}

ExitStatus report_usage(std::string_view problem) {
  fmt::print(stderr, "paravane: {}\n", problem);
  return ExitStatus::kUsage;
}

}  // namespace paravane::cli
