// MetricsPort opens the TCP port on which Prometheus scrapes metrics ([metrics] listen in
// paravaned.toml). The keeper, the daemon's privileged process, creates the socket.
//
// If that fails, because the address is not configured yet or the port is in use, MetricsPort tries
// again after 1, 2, 4, ... seconds, at most every minute. It logs the reason once, and logs again
// when the port is open. The rest of the daemon works without the port.
//
// Control thread only.

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "api/api_handler.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/http_door.h"
#include "privsep/dialer.h"

namespace paravane::metrics {

class MetricsPort {
 public:
  static constexpr Duration kFirstWait = std::chrono::seconds(1);
  static constexpr Duration kLongestWait = std::chrono::minutes(1);

  // `at`: the address from paravaned.toml; empty: no port is opened. `dialer` and `handler` outlive
  // us. REQUIRES: close() is called before the dialer is closed.
  MetricsPort(std::string at, privsep::Dialer& dialer, api::RequestHandler& handler);

  // Requests the socket from the keeper if the next try is due.
  void try_if_due(Instant now);
  Instant next_try() const { return next_try_; }  // kNever: there is nothing to try
  bool is_open() const { return door_ != nullptr; }

  // Requests no more sockets. A port that is open stays open.
  void close();

 private:
  void on_socket(Result<UniqueFd> socket);
  void complain(const std::string& reason);

  const std::string at_;
  privsep::Dialer& dialer_;
  api::RequestHandler& handler_;
  Instant next_try_;
  Duration wait_ = kFirstWait;
  bool complained_ = false;
  bool closed_ = false;
  std::unique_ptr<http::HttpDoor> door_;
};

}  // namespace paravane::metrics
