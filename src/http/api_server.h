// ApiServer serves the management API on a UNIX socket. It creates the socket file and opens an
// HttpDoor on it. If another process already listens on the socket, ApiServer fails and does not
// change the socket.

#pragma once

#include <filesystem>
#include <memory>

#include "api/api_handler.h"
#include "base/result.h"
#include "base/socket_access.h"
#include "base/unique_fd.h"
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
  // Serves on a socket that another process has made by listen(), and that has ended or will not
  // accept on it any more. Errors: kInvalidArgument (it is no such socket), kIo.
  static Result<std::unique_ptr<ApiServer>> take_over(const settings::ApiConfig& config,
                                                      UniqueFd listener,
                                                      api::RequestHandler& handler);
  // Whether it is the listening socket of these settings. Errors: kInvalidArgument.
  static Status check_listener(const settings::ApiConfig& config, const UniqueFd& listener);

  HttpDoor& door() { return *door_; }

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
