#include "metrics/metrics_port.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace paravane::metrics {
namespace {

constexpr unsigned kThreads = 2;

}  // namespace

MetricsPort::MetricsPort(std::string at, privsep::Dialer& dialer, api::RequestHandler& handler)
    : at_(std::move(at)),
      dialer_(dialer),
      handler_(handler),
      next_try_(at_.empty() ? kNever : Instant::min()) {}

void MetricsPort::try_if_due(Instant now) {
  if (closed_ || now < next_try_) return;
  next_try_ = now + wait_;  // unless it is there by then
  wait_ = std::min(2 * wait_, kLongestWait);
  dialer_.listen(at_, [this](Result<UniqueFd> socket) { on_socket(std::move(socket)); });
}

void MetricsPort::on_socket(Result<UniqueFd> socket) {
  if (closed_ || door_) return;
  if (!socket) return complain(socket.error().message);
  auto door =
      http::HttpDoor::open({.name = "metrics", .threads = kThreads}, std::move(*socket), handler_);
  if (!door) return complain(door.error().message);
  door_ = std::move(*door);
  next_try_ = kNever;
  log::info("metrics: listening at http://{}/metrics", at_);
}

void MetricsPort::complain(const std::string& reason) {
  if (std::exchange(complained_, true)) return;
  log::error("metrics: {}; retrying, up to once a minute", reason);
}

void MetricsPort::close() {
  closed_ = true;
  next_try_ = kNever;
}

}  // namespace paravane::metrics
