// ApiServer: the management API on a unix socket.
//
// One thread is the door: it takes clients in and gathers their requests in a
// RequestLobby. A fixed number of others have whole requests answered, one per
// connection, and never wait for a client's next byte; further requests wait in a
// RequestQueue. Sizes and times are bounded. These threads do nothing but parse
// and wait: what is asked is done by the Management.

#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "control/api_handler.h"
#include "daemon/config.h"
#include "daemon/request_lobby.h"
#include "daemon/request_queue.h"
#include "daemon/vm_port.h"

namespace paravane::daemon {

class ApiServer {
 public:
  // `management` and `cluster` outlive the server and may be called from any thread.
  // Errors: kBadState (somebody listens there), kIo; with path, cause and remedy.
  static Result<std::unique_ptr<ApiServer>> listen(const ApiConfig& config,
                                                   const SocketAccess& access,
                                                   control::Management& management,
                                                   control::ClusterManagement& cluster);
  // Answers what is under way, then ends; removes the socket file.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

 private:
  ApiServer(const ApiConfig& config, UniqueFd socket, std::unique_ptr<EventLoop> loop,
            control::Management& management, control::ClusterManagement& cluster);
  Status open_door(const ApiConfig& config, const SocketAccess& access);
  void keep_door();
  void take_in();
  void serve();

  std::filesystem::path path_;
  UniqueFd socket_;
  control::ApiHandler handler_;
  std::atomic<bool> stopping_{false};
  RequestQueue queue_;
  std::unique_ptr<EventLoop> loop_;  // the door's
  RequestLobby lobby_;
  std::vector<std::thread> threads_;
};

}  // namespace paravane::daemon
