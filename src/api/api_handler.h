// ApiHandler: handles one request of the management API. It knows paths, methods and JSON, and
// nothing of sockets or threads, so tests and a fuzzer call it directly. docs/api.md describes the
// API.
//
// Stateless: any number of threads may use one.

#pragma once

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
// With a backup of a cluster (authority/sealed_text.h), in Base64.
inline constexpr std::size_t kMaxBackupBody = std::size_t{1'700} * 1'024;

inline constexpr std::string_view kClusterAdapters = "/v1/cluster/adapters";
inline constexpr std::string_view kClusterInspect = "/v1/cluster/backup/inspect";
inline constexpr std::string_view kClusterRestore = "/v1/cluster/restore";
inline constexpr std::string_view kClusterInspectAccept = "/v1/cluster/restore/inspect";
inline constexpr std::string_view kClusterPromote = "/v1/cluster/promote";

// Bytes of a request's body. `path`: without the query.
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

// Answers complete requests that arrived at a door.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Never fails: what cannot be done is an error answer. Any thread.
  virtual ApiResponse handle(const ApiRequest& request) = 0;
};

class ApiHandler final : public RequestHandler {
 public:
  // `cluster` null: nothing is known of clusters; `events` null: nor of events. All
  // outlive the handler.
  explicit ApiHandler(model::Management& management, model::ClusterManagement* cluster = nullptr,
                      EventLog* events = nullptr)
      : management_(management), cluster_(cluster), events_(events) {}

  ApiResponse handle(const ApiRequest& request) override;

 private:
  ApiResponse vms(const ApiRequest& request);
  // `rest`: of the path, after the name.
  ApiResponse about_vm(const ApiRequest& request, const std::string& name, const std::string& rest);
  // Names the host of a VM that another host of the cluster has; nullopt: none, or this host has
  // it.
  std::optional<ApiResponse> elsewhere(const std::string& name);
  ApiResponse one_vm(const ApiRequest& request, const std::string& name);
  ApiResponse adapters(const ApiRequest& request, const std::string& name);
  ApiResponse one_adapter(const ApiRequest& request, const std::string& name,
                          const std::string& number);
  ApiResponse stats(const ApiRequest& request);
  ApiResponse stop(const ApiRequest& request);

  model::Management& management_;
  model::ClusterManagement* cluster_;
  EventLog* events_;
};

ApiResponse error_response(const model::ApiError& error);

}  // namespace paravane::api
