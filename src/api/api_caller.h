// ApiCaller: sends requests of the management API to the daemon, each on a new connection. If a
// request fails, the error message gives the reason: for example, the daemon is not running, access
// is denied, the request timed out, or the daemon is of a different version.
//
// Blocks for a bounded time. Any thread, one call at a time.

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
  std::chrono::milliseconds patience = std::chrono::seconds(30);  // above the daemon's limit
};

struct NoAnswer;

class ApiCaller {
 public:
  explicit ApiCaller(ApiCallerConfig config) : config_(std::move(config)) {}

  // Returns the body of a successful response. Errors: the error that the daemon returned;
  // kInternal (the daemon did not respond, and unreachable() is true).
  model::ApiResult<std::string> call(const char* method, const std::string& path,
                                     const std::string& body);

  // Whether the daemon did not respond to the last call.
  bool unreachable() const { return unreachable_; }
  // The error for a response that is well-formed JSON but does not have the expected content.
  model::ApiError not_understood(const Error& why) const;

 private:
  std::unexpected<model::ApiError> no_answer(std::string message, std::string remedy);
  std::unexpected<model::ApiError> not_answered(const NoAnswer& why);
  // The remedy for a daemon whose version differs from this program's; empty: the versions are the
  // same.
  std::string other_version() const;

  ApiCallerConfig config_;
  bool unreachable_ = false;
  std::string daemon_version_;  // as the daemon reports it
};

}  // namespace paravane::api
