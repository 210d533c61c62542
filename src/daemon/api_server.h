// ApiServer: the management API on a unix socket.
//
// A fixed number of threads accept, read one request each, have it answered and
// close; further clients wait in the socket's queue. A client has a limited time
// for its whole request, not only for each piece, and sizes are bounded. The
// threads do nothing but parse and wait: what is asked is done by the Management.

#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/api_handler.h"
#include "daemon/config.h"
#include "daemon/vm_port.h"

namespace paravane::daemon {

class ApiServer {
 public:
  // `management` outlives the server and may be called from any thread.
  // Errors: kBadState (somebody listens there), kIo; with path, cause and remedy.
  static Result<std::unique_ptr<ApiServer>> listen(const ApiConfig& config,
                                                   const SocketAccess& access,
                                                   control::Management& management);
  // Answers what is under way, then ends; removes the socket file.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

 private:
  ApiServer(const ApiConfig& config, UniqueFd socket, control::Management& management);
  void serve();

  std::filesystem::path path_;
  UniqueFd socket_;
  control::ApiHandler handler_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace paravane::daemon
