#include "api/api_caller.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/api_error_json.h"
#include "api/api_exchange.h"
#include "base/unique_fd.h"

namespace paravane::api {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectTime = std::chrono::seconds(5);

// "paravaned/0.2.0" in the header Server (RFC 9110, 10.2.4).
constexpr std::string_view kProduct = "paravaned/";

// libcurl does not say why it could not connect, so this asks once itself. 0: it could.
int why_unreachable(const std::string& path, milliseconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  path.copy(address.sun_path, path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  // The listen queue of a daemon that accepts no clients fills up at some point.
  const timeval wait{
      .tv_sec = patience / std::chrono::seconds(1),
      .tv_usec = (patience % std::chrono::seconds(1)) / std::chrono::microseconds(1)};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(fd.get(), generic, sizeof address) == 0 ? 0 : errno;
}

const char* remedy_for(int cause) {
  if (cause == EACCES) {
    return "Run the command as root, or join the group that [api] group names in paravaned.toml.";
  }
  if (cause == EAGAIN) {
    return "The daemon is not accepting connections. Find out why with: systemctl status paravaned";
  }
  return "Start the daemon (systemctl start paravaned), or specify its socket with --socket or "
         "PARAVANE_SOCKET.";
}

// Whether it may be that only the other version of the daemon refuses this.
bool may_be_of_version(model::ApiErrorCode code) {
  return code == model::ApiErrorCode::kUnknownPath ||
         code == model::ApiErrorCode::kMethodNotAllowed ||
         code == model::ApiErrorCode::kInvalidRequest;
}

}  // namespace

std::unexpected<model::ApiError> ApiCaller::no_answer(std::string message, std::string remedy) {
  unreachable_ = true;
  return model::refuse(model::ApiErrorCode::kInternal, std::move(message), std::move(remedy));
}

std::string ApiCaller::other_version() const {
  if (daemon_version_ == config_.version) return {};
  return fmt::format(
      "The daemon is {}, but this program is version {}. Install the same version of both, and "
      "restart the daemon if it is the older one.",
      daemon_version_.empty() ? "of unknown version" : "paravaned " + daemon_version_,
      config_.version);
}

model::ApiError ApiCaller::not_understood(const Error& why) const {
  std::string other = other_version();
  return {
      .code = model::ApiErrorCode::kInternal,
      .message = "cannot parse the daemon's response: " + why.message,
      .remedy = other.empty() ? "Check that the socket belongs to paravaned." : std::move(other)};
}

std::unexpected<model::ApiError> ApiCaller::not_answered(const NoAnswer& why) {
  switch (why.kind) {
    case NoAnswer::Kind::kTimedOut:
      return no_answer(fmt::format("paravaned at {} did not respond within {} ms", config_.socket,
                                   config_.patience.count()),
                       "The daemon is busy or suspended: see systemctl status paravaned. The "
                       "request may still be carried out: check before you retry.");
    case NoAnswer::Kind::kTooLong:
      return no_answer(
          fmt::format("the response from {} is too long to come from paravaned", config_.socket),
          "Check that the socket belongs to paravaned.");
    case NoAnswer::Kind::kBroken: break;
  }
  return no_answer(fmt::format("paravaned at {} closed the connection without a response: {}",
                               config_.socket, why.cause),
                   "The daemon may have been stopped: see systemctl status paravaned.");
}

model::ApiResult<std::string> ApiCaller::call(const char* method, const std::string& path,
                                              const std::string& body) {
  const milliseconds connect_time = std::min(kConnectTime, config_.patience);
  if (const int cause = why_unreachable(config_.socket, connect_time); cause != 0) {
    return no_answer(
        fmt::format("paravaned does not answer at {}: {}", config_.socket, std::strerror(cause)),
        remedy_for(cause));
  }
  unreachable_ = false;
  daemon_version_.clear();
  const auto answer = exchange({.socket = config_.socket,
                                .method = method,
                                .path = path,
                                .body = body,
                                .patience = config_.patience});
  if (!answer) return not_answered(answer.error());
  if (answer->server.starts_with(kProduct)) {
    daemon_version_ = answer->server.substr(kProduct.size());
  }
  if (answer->status >= 200 && answer->status <= 299) return answer->body;
  model::ApiError error = api_error_from_body(answer->status, answer->body);
  std::string other = other_version();
  if (may_be_of_version(error.code) && !other.empty()) error.remedy = std::move(other);
  return std::unexpected(std::move(error));
}

}  // namespace paravane::api
