// JoinDoor: the listener through which hosts join a cluster and query each other. It transfers
// requests and responses, and ClusterService evaluates them.
//
// A separate thread serves one connection at a time. The number of connections per second and the
// duration of each are bounded.

#pragma once

#include <atomic>
#include <thread>

#include "base/unique_fd.h"
#include "cluster/tls_line.h"

namespace paravane::cluster {

class JoinDoor {
 public:
  // `listener`: a listening socket. `server.answer` is called on the thread of this object.
  JoinDoor(UniqueFd listener, TlsServer server);
  // Ends the connection that is being served.
  ~JoinDoor();
  JoinDoor(const JoinDoor&) = delete;
  JoinDoor& operator=(const JoinDoor&) = delete;

 private:
  void keep();

  UniqueFd listener_;
  TlsServer server_;
  UniqueFd wake_;  // stays readable after closing has begun
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace paravane::cluster
