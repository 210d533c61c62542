// ApiHandler: handles one request of the management API. It interprets the path, the method and the
// JSON, and calls the code that carries out the operation. It does not use sockets or threads, so
// tests and a fuzzer can call it directly. docs/api.md describes the API.
//
// Stateless; several threads may use one handler at the same time.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/event_log.h"
#include "model/cluster.h"
#include "model/management.h"

namespace paravane::api {

inline constexpr std::size_t kMaxApiPath = 256;
inline constexpr std::size_t kMaxApiBody = std::size_t{64} * 1024;
// The maximum for a body that contains a backup of a cluster (authority/sealed_text.h) in Base64.
inline constexpr std::size_t kMaxBackupBody = std::size_t{1'700} * 1'024;

inline constexpr std::string_view kClusterAdapters = "/v1/cluster/adapters";
inline constexpr std::string_view kClusterInspect = "/v1/cluster/backup/inspect";
inline constexpr std::string_view kClusterRestore = "/v1/cluster/restore";
inline constexpr std::string_view kClusterInspectAccept = "/v1/cluster/restore/inspect";
inline constexpr std::string_view kClusterPromote = "/v1/cluster/promote";

// The maximum size of a request's body in bytes. `path`: without the query.
constexpr std::size_t max_api_body(std::string_view path) {
  const bool has_backup =
      path == kClusterInspect || path == kClusterRestore || path == kClusterPromote;
  return has_backup ? kMaxBackupBody : kMaxApiBody;
}

struct ApiRequest {
  std::string method;  // "GET", "POST", "PATCH", "DELETE"
  std::string path;    // without the query, percent-decoded
  std::multimap<std::string, std::string> query{};
  std::string body{};
};

struct ApiResponse {
  int status = 200;
  std::string body;  // ends with a newline
  const char* content_type = "application/json";
};

// RequestHandler: responds to requests that a listener has received completely.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Never fails; a request that cannot be carried out gets an error response. Any thread.
  virtual ApiResponse handle(const ApiRequest& request) = 0;
};

class ApiHandler final : public RequestHandler {
 public:
  // `cluster`: null if the daemon does not support clusters; `events`: null if it does not support
  // events. All arguments outlive the handler.
  explicit ApiHandler(model::Management& management, model::ClusterManagement* cluster = nullptr,
                      EventLog* events = nullptr)
      : management_(management), cluster_(cluster), events_(events) {}

  ApiResponse handle(const ApiRequest& request) override;

 private:
  ApiResponse vms(const ApiRequest& request);
  // `rest`: the part of the path after the name.
  ApiResponse about_vm(const ApiRequest& request, const std::string& name, const std::string& rest);
  // If another host of the cluster has this VM, the response that names that host; nullopt: no
  // other host has it, or this host has it.
  std::optional<ApiResponse> elsewhere(const std::string& name);
  ApiResponse one_vm(const ApiRequest& request, const std::string& name);
  ApiResponse adapters(const ApiRequest& request, const std::string& name);
  ApiResponse one_adapter(const ApiRequest& request, const std::string& name,
                          const std::string& number);
  ApiResponse stats(const ApiRequest& request);
  ApiResponse stop(const ApiRequest& request);
  ApiResponse upgrade(const ApiRequest& request);
  // A request that the daemon begins to carry out, with one option in its body that may be missing.
  static ApiResponse order(const ApiRequest& request, const char* option,
                           const std::function<model::ApiResult<void>(bool)>& act);

  model::Management& management_;
  model::ClusterManagement* cluster_;
  EventLog* events_;
};

ApiResponse error_response(const model::ApiError& error);

}  // namespace paravane::api
