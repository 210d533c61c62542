// MetricsPort: the TCP port on which Prometheus scrapes metrics, [metrics] listen. The keeper
// creates its socket. While that fails, because the address is not configured yet or the port is
// in use, it is retried after a second, two, four and so on up to a minute. The log reports the
// reason once, and when the port is open. Everything else works without it.
//
// Control thread.

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

  // `at`: as in the file; empty: nothing is done. `dialer` and `handler` outlive us. REQUIRES:
  // close() before the dialer is closed.
  MetricsPort(std::string at, privsep::Dialer& dialer, api::RequestHandler& handler);

  // Asks the keeper if it is time to.
  void try_if_due(Instant now);
  Instant next_try() const { return next_try_; }  // kNever: there is nothing to try
  bool is_open() const { return door_ != nullptr; }

  // No socket is taken any more; a door that is open stays.
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
