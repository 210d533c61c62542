#include "control/api_client.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/unique_fd.h"
#include "control/stats_json.h"
#include "control/vm_json.h"

namespace paravane::control {

using nlohmann::json;

namespace {

constexpr auto kConnectTimeout = std::chrono::seconds(5);
constexpr auto kAnswerTimeout = std::chrono::seconds(30);  // beyond the daemon's own limit

// httplib does not say why it could not connect, so this asks once itself.
std::string why_unreachable(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return "the path is too long for a socket";
  path.copy(address.sun_path, path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return std::strerror(errno);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(fd.get(), generic, sizeof address) != 0) return std::strerror(errno);
  return {};
}

std::string remedy_for(const std::string& cause) {
  if (cause == std::strerror(EACCES)) {
    return "Run the command as root, or join the group that [api] group names in paravaned.toml.";
  }
  return "Start the daemon (systemctl start paravaned), or name its socket with --socket.";
}

ApiError not_understood(const Error& error) {
  return {.code = ApiErrorCode::kInternal,
          .message = "the daemon's answer was not understood: " + error.message,
          .remedy = "See that paravane and paravaned are of the same version."};
}

template <typename T>
ApiResult<T> parse_answer(const ApiResult<std::string>& body, Result<T> (*read)(const json&)) {
  if (!body) return std::unexpected(body.error());
  const Result<json> value = parse_json(*body);
  if (!value) return std::unexpected(not_understood(value.error()));
  Result<T> parsed = read(*value);
  if (!parsed) return std::unexpected(not_understood(parsed.error()));
  return std::move(*parsed);
}

Result<std::vector<VmStatus>> vm_list_from_json(const json& value) {
  if (!value.is_object() || !value.contains("vms") || !value.at("vms").is_array()) {
    return fail(Errc::kInvalidArgument, "no list of VMs");
  }
  std::vector<VmStatus> list;
  for (const json& element : value.at("vms")) {
    Result<VmStatus> vm = vm_status_from_json(element);
    if (!vm) return std::unexpected(vm.error());
    list.push_back(std::move(*vm));
  }
  return list;
}

}  // namespace

ApiError ApiClient::no_answer(std::string cause) {
  unreachable_ = true;
  std::string remedy = remedy_for(cause);
  return {.code = ApiErrorCode::kInternal,
          .message = fmt::format("paravaned does not answer at {}: {}", socket_path_, cause),
          .remedy = std::move(remedy)};
}

ApiResult<std::string> ApiClient::call(const char* method, const std::string& path,
                                       const std::string& body) {
  if (std::string cause = why_unreachable(socket_path_); !cause.empty()) {
    return std::unexpected(no_answer(std::move(cause)));
  }
  unreachable_ = false;
  httplib::Client client(socket_path_, 80);
  client.set_address_family(AF_UNIX);
  client.set_connection_timeout(kConnectTimeout);
  client.set_read_timeout(kAnswerTimeout);
  httplib::Request request;
  request.method = method;
  request.path = path;
  request.headers.emplace("Host", "localhost");
  if (!body.empty()) {
    request.headers.emplace("Content-Type", "application/json");
    request.body = body;
  }
  const httplib::Result result = client.send(request);
  if (!result) return std::unexpected(no_answer(httplib::to_string(result.error())));
  if (result->status < 200 || result->status > 299) {
    return std::unexpected(api_error_from_body(result->status, result->body));
  }
  return result->body;
}

ApiResult<VmStatus> ApiClient::add_vm(const VmSpec& spec) {
  return parse_answer(call("POST", "/v1/vms", print_json(to_json(spec))), vm_status_from_json);
}

ApiResult<void> ApiClient::remove_vm(const std::string& name, bool force) {
  const auto body = call("DELETE", "/v1/vms/" + name + (force ? "?force=true" : ""));
  if (!body) return std::unexpected(body.error());
  return {};
}

ApiResult<VmStatus> ApiClient::set_vm(const std::string& name, const VmChange& change) {
  return parse_answer(call("PATCH", "/v1/vms/" + name, print_json(to_json(change))),
                      vm_status_from_json);
}

ApiResult<VmStatus> ApiClient::add_adapter(const std::string& name, const AdapterRequest& request) {
  return parse_answer(
      call("POST", fmt::format("/v1/vms/{}/adapters", name), print_json(to_json(request))),
      vm_status_from_json);
}

ApiResult<VmStatus> ApiClient::remove_adapter(const std::string& name, std::uint32_t number,
                                              bool force) {
  return parse_answer(call("DELETE", fmt::format("/v1/vms/{}/adapters/{}{}", name, number,
                                                 force ? "?force=true" : "")),
                      vm_status_from_json);
}

ApiResult<VmStatus> ApiClient::set_connected(const std::string& name, std::uint32_t number,
                                             bool connected) {
  return parse_answer(call("PATCH", fmt::format("/v1/vms/{}/adapters/{}", name, number),
                           print_json({{"connected", connected}})),
                      vm_status_from_json);
}

ApiResult<std::vector<VmStatus>> ApiClient::list_vms() {
  return parse_answer(call("GET", "/v1/vms"), vm_list_from_json);
}

ApiResult<VmStatus> ApiClient::find_vm(const std::string& name) {
  return parse_answer(call("GET", "/v1/vms/" + name), vm_status_from_json);
}

ApiResult<DaemonStatus> ApiClient::status() {
  return parse_answer(call("GET", "/v1/status"), daemon_status_from_json);
}

ApiResult<Stats> ApiClient::stats(const std::optional<std::string>& vm) {
  return parse_answer(call("GET", vm ? "/v1/stats?vm=" + *vm : "/v1/stats"), stats_from_json);
}

ApiResult<void> ApiClient::stop(bool force) {
  const auto body =
      call("POST", "/v1/daemon/stop", force ? R"({"force":true})" : R"({"force":false})");
  if (!body) return std::unexpected(body.error());
  return {};
}

}  // namespace paravane::control
