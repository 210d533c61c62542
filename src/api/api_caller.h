// ApiCaller: sends requests of the management API, each on a connection of its own, and explains
// failures: the daemon is not running, access is denied, the request timed out, or the daemon's
// version differs.
//
// Blocks, for a bounded time. Any thread, one call at a time.

#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "base/result.h"
#include "model/api_error.h"

namespace paravane::api {

struct ApiCallerConfig {
  std::string socket;                                             // path
  std::string version;                                            // of the program that asks
  std::chrono::milliseconds patience = std::chrono::seconds(30);  // beyond the daemon's own limit
};

struct NoAnswer;

class ApiCaller {
 public:
  explicit ApiCaller(ApiCallerConfig config) : config_(std::move(config)) {}

  // The body of a successful answer. Errors: what the daemon said; kInternal: it did not
  // answer, and unreachable() is true.
  model::ApiResult<std::string> call(const char* method, const std::string& path,
                                     const std::string& body);

  // Of the last call.
  bool unreachable() const { return unreachable_; }
  // Its answer was well-formed and yet not what we know.
  model::ApiError not_understood(const Error& why) const;

 private:
  std::unexpected<model::ApiError> no_answer(std::string message, std::string remedy);
  std::unexpected<model::ApiError> not_answered(const NoAnswer& why);
  // Empty: both are the same.
  std::string other_version() const;

  ApiCallerConfig config_;
  bool unreachable_ = false;
  std::string daemon_version_;  // as it says itself
};

}  // namespace paravane::api
