// ApiServer serves the management API on a UNIX socket. It creates the socket file and opens an
// HttpDoor on it. If another process already listens on the socket, ApiServer fails and does not
// change the socket.

#pragma once

#include <filesystem>
#include <memory>

#include "api/api_handler.h"
#include "base/result.h"
#include "base/socket_access.h"
#include "http/http_door.h"
#include "settings/config.h"

namespace paravane::http {

class ApiServer {
 public:
  // `handler` outlives the server and may be called from any thread.
  // Errors: kBadState (another process listens there), kIo; with path, cause and remedy.
  static Result<std::unique_ptr<ApiServer>> listen(const settings::ApiConfig& config,
                                                   const SocketAccess& access,
                                                   api::RequestHandler& handler);
  // Answers the requests in progress, then stops and removes the socket file.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

 private:
  explicit ApiServer(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::unique_ptr<HttpDoor> door_;
};

}  // namespace paravane::http
