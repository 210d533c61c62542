// JoinDoor: the listener of a join endpoint, through which hosts join a cluster and query each
// other. One thread serves one connection at a time, a bounded number in a second and each for a
// bounded time. It only transfers requests and responses; ClusterService evaluates them.

#pragma once

#include <atomic>
#include <thread>

#include "base/unique_fd.h"
#include "cluster/tls_line.h"

namespace paravane::cluster {

class JoinDoor {
 public:
  // `listener`: a socket that listens. `server.answer` is called on the door's thread.
  JoinDoor(UniqueFd listener, TlsServer server);
  // Who is at the door is sent away.
  ~JoinDoor();
  JoinDoor(const JoinDoor&) = delete;
  JoinDoor& operator=(const JoinDoor&) = delete;

 private:
  void keep();

  UniqueFd listener_;
  TlsServer server_;
  UniqueFd wake_;  // readable for good once we close
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace paravane::cluster
