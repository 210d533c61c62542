// ApiError is an error that is shown to an operator. It names the object and the cause and, if
// possible, gives a remedy. api_error_json.h converts it to JSON.

#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace paravane::model {

enum class ApiErrorCode : std::uint8_t {
  kInvalidRequest,    // 400: not what docs/api.md says
  kDenied,            // 403: not this host's to do, or refused by the one that decides
  kNotFound,          // 404
  kUnknownPath,       // 404: there is nothing there
  kMethodNotAllowed,  // 405
  kTooLarge,          // 413
  kExists,            // 409: the name is taken
  kChanged,           // 409: by another, since the asking one looked
  kMacInUse,          // 409
  kVmsAttached,       // 409: refused without force; `vms` names them
  kLimitReached,      // 409: the daemon has as many VMs as it may
  kInUse,             // 409: something else needs it
  kBusy,              // 503: no answer in time, or no memory or descriptor for it; ask again
  kClusterAway,       // 503: etcd or the authority does not answer, and it takes them
  kNoSpace,           // 507: the disk of the state directory is full
  kStore,             // 500: the state cannot be read or written
  kSocket,            // 500: the VM's socket cannot be made
  kInternal,          // 500
};

struct ApiError {
  ApiErrorCode code = ApiErrorCode::kInternal;
  std::string message;
  std::string remedy;              // empty: nothing in particular
  std::vector<std::string> vms{};  // kVmsAttached
};

template <typename T>
using ApiResult = std::expected<T, ApiError>;

inline std::unexpected<ApiError> refuse(ApiErrorCode code, std::string message,
                                        std::string remedy = {}) {
  return std::unexpected(
      ApiError{.code = code, .message = std::move(message), .remedy = std::move(remedy)});
}

// The error of a request that was interrupted by a lack of memory, perhaps after it was carried
// out.
inline ApiError no_memory() {
  return {.code = ApiErrorCode::kBusy,
          .message = "paravaned is out of memory for this request",
          .remedy =
              "Free memory on this host, then check whether the request was carried out before you "
              "retry."};
}

}  // namespace paravane::model
