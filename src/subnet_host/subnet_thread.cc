#include "subnet_host/subnet_thread.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "base/memory_shortage.h"

namespace paravane::subnet_host {

Result<std::unique_ptr<SubnetThread>> SubnetThread::start(const SubnetThreadConfig& config) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  try {
    return std::unique_ptr<SubnetThread>(new SubnetThread(config, std::move(*loop)));
  } catch (const std::system_error& error) {
    return fail_by_system(Errc::kIo, "the InfiniBand subnet's thread", error.code().value());
  }
}

SubnetThread::SubnetThread(const SubnetThreadConfig& config, std::unique_ptr<EventLoop> loop)
    : loop_(std::move(loop)),
      mailbox_([this] { loop_->wake(); }),
      clock_{.now = std::chrono::steady_clock::now()},
      subnet_(config.host, config.switch_guid, clock_),
      door_(subnet_, *loop_, timers_, clock_),
      uplinks_(*loop_, clock_, config.uplink_lost),
      on_cable_lost_(config.cable_lost),
      cables_(subnet_, *loop_, clock_, on_cable_lost_),
      watch_(config.link_news),
      on_trouble_(config.trouble),
      thread_([this] { run(); }) {}

SubnetThread::~SubnetThread() {
  // Not by a message: that takes memory.
  stopping_ = true;
  thaw();
  loop_->wake();
  thread_.join();
}

void SubnetThread::remove(const std::string& adapter) {
  subnet::HostAdapter* found = subnet_.find(adapter);
  if (found == nullptr) return;
  captures_.forget(*found);
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

void SubnetThread::connect(const std::string& host, std::uint64_t number,
                           std::unique_ptr<cable::ByteStream> stream) {
  Status connected = fail(Errc::kResourceExhausted, "out of memory");
  (void)runs_in_memory([&] { connected = cables_.connect(host, number, std::move(stream)); });
  if (!connected && on_cable_lost_) on_cable_lost_(host, number, connected.error().message);
}

// ---- From one engine to the next ----

std::optional<SubnetParcel> SubnetThread::freeze() {
  auto parcel = mailbox_.ask(
      [this] {
        SubnetParcel left{.subnet = subnet_.image(), .uplinks = uplinks_.images()};
        frozen_ = true;
        return left;
      },
      kFreezeLimit);
  if (!parcel) return std::nullopt;
  return std::move(*parcel);
}

void SubnetThread::thaw() {
  frozen_ = false;
  frozen_.notify_all();
}

std::vector<std::string> SubnetThread::adopt(
    SubnetParcel parcel, const std::vector<subnet::Subnet::AdapterWish>& wishes) {
  std::vector<std::string> anew = subnet_.adopt(parcel.subnet, wishes);
  uplinks_.inherit(std::move(parcel.uplinks));
  // What finds no memory here is told once more.
  (void)runs_in_memory([&] { watch_.adopt(subnet_, parcel.subnet, clock_.now); });
  return anew;
}

void SubnetThread::run() {
  ::pthread_setname_np(::pthread_self(), "subnet");
  while (!stopping_) {
    frozen_.wait(true);
    const bool had_memory = take_turn();
    if (!had_memory) log_.error(clock_.now, "the InfiniBand subnet: out of memory");
    if (!had_memory || has_trouble_) std::this_thread::sleep_for(kPause);
  }
}

// Each part on its own, so that one that fails again and again does not hold up the others.
bool SubnetThread::take_turn() {
  bool had_memory = runs_in_memory([this] {
    Status polled = loop_->wait(rest());
    // The time of a turn is that after the sleep, for what the sockets bring, too.
    clock_.now = std::chrono::steady_clock::now();
    door_.begin_turn();
    if (polled) {
      if (auto ran = loop_->poll(Duration::zero()); !ran) polled = std::unexpected(ran.error());
    }
    note(polled);
  });
  const auto take_part = [&had_memory](auto&& act) {
    if (!runs_in_memory(act)) had_memory = false;
  };
  if (mailbox_.deliver() != 0) had_memory = false;
  if (frozen_) return had_memory;
  take_part([this] { timers_.run_due(clock_.now); });
  is_busy_ = true;  // as long as it is not known better
  take_part([this] { has_frames_ = uplinks_.turn(); });
  take_part([this] { has_packets_ = cables_.receive(); });
  take_part([this] { is_busy_ = subnet_.turn(); });
  take_part([this] { uplinks_.on_time(clock_.now); });
  take_part([this] { captures_.on_time(clock_.now); });
  take_part([this] { cables_.on_time(clock_.now); });
  take_part([this] { has_to_send_ = cables_.flush(); });
  take_part([this] { watch_.look(subnet_, clock_.now); });
  return had_memory;
}

// Without its loop the thread hears no program and no uplink, but goes on to serve messages.
void SubnetThread::note(const Status& polled) {
  if (polled) {
    has_trouble_ = false;
    return;
  }
  log_.error(clock_.now, "the InfiniBand subnet cannot wait for its sockets: {}",
             polled.error().message);
  if (!has_trouble_ && on_trouble_) on_trouble_(polled.error().message);
  has_trouble_ = true;
}

std::optional<Duration> SubnetThread::rest() {
  if (is_busy_ || has_frames_ || has_packets_ || has_to_send_ || mailbox_.waiting())
    return Duration::zero();
  const Instant next =
      std::min({timers_.next_deadline(), subnet_.next_deadline(), uplinks_.next_deadline(),
                captures_.next_deadline(), cables_.next_deadline(), watch_.next_deadline()});
  if (next == kNever) return std::nullopt;
  return std::max(Duration::zero(), next - std::chrono::steady_clock::now());
}

}  // namespace paravane::subnet_host
