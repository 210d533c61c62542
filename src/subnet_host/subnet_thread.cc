#include "subnet_host/subnet_thread.h"

#include <pthread.h>

#include <algorithm>
#include <optional>

namespace paravane::subnet_host {

Result<std::unique_ptr<SubnetThread>> SubnetThread::start(const SubnetThreadConfig& config) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  return std::unique_ptr<SubnetThread>(new SubnetThread(config, std::move(*loop)));
}

SubnetThread::SubnetThread(const SubnetThreadConfig& config, std::unique_ptr<EventLoop> loop)
    : loop_(std::move(loop)),
      mailbox_([this] { loop_->wake(); }),
      clock_{.now = std::chrono::steady_clock::now()},
      subnet_(config.host, config.switch_guid, clock_),
      door_(subnet_, *loop_, timers_, clock_),
      uplinks_(*loop_, clock_, config.uplink_lost),
      thread_([this] { run(); }) {}

SubnetThread::~SubnetThread() {
  post([this] { stopping_ = true; });
  thread_.join();
}

void SubnetThread::remove(const std::string& adapter) {
  subnet::HostAdapter* found = subnet_.find(adapter);
  if (found == nullptr) return;
  uplinks_.forget(*found);
  door_.forget(*found);
  subnet_.remove(adapter);
}

void SubnetThread::open_uplink(const std::string& adapter, subnet::PortNumber port, UplinkTap tap) {
  subnet::HostAdapter* found = subnet_.find(adapter);
  if (found == nullptr) return;
  const std::string name = tap.uplink;
  if (const Status added = uplinks_.add(*found, port, std::move(tap)); !added)
    log_.error(clock_.now, "{}: cannot use its tap: {}", name, added.error().message);
}

void SubnetThread::run() {
  ::pthread_setname_np(::pthread_self(), "subnet");
  bool is_busy = false;
  while (!stopping_) {
    // The time of a turn is that after the sleep, for what the sockets bring, too.
    if (!loop_->wait(rest(is_busy))) return;
    clock_.now = std::chrono::steady_clock::now();
    if (!loop_->poll(Duration::zero())) return;
    mailbox_.deliver();
    timers_.run_due(clock_.now);
    is_busy = subnet_.turn();
    uplinks_.on_time(clock_.now);
  }
}

std::optional<Duration> SubnetThread::rest(bool is_busy) {
  if (is_busy || mailbox_.waiting()) return Duration::zero();
  const Instant next =
      std::min({timers_.next_deadline(), subnet_.next_deadline(), uplinks_.next_deadline()});
  if (next == kNever) return std::nullopt;
  return std::max(Duration::zero(), next - std::chrono::steady_clock::now());
}

}  // namespace paravane::subnet_host
