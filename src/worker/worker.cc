#include "worker/worker.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/log.h"
#include "base/memory_shortage.h"

namespace paravane::worker {
namespace {

// While devices are busy, sockets are looked at this often: a system call per
// round would cost a short message more than all the rest.
constexpr Duration kSocketLook = std::chrono::microseconds(20);

Instant read_clock() {
  return std::chrono::steady_clock::now();
}

// Of the thread that asks. A system call.
Duration read_processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

unsigned usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::start(const WorkerConfig& config) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  return std::unique_ptr<Worker>(new Worker(config, std::move(*loop)));
}

Worker::Worker(const WorkerConfig& config, std::unique_ptr<EventLoop> loop)
    : config_(config),
      loop_(std::move(loop)),
      mailbox_([this] {
        loop_->wake();
        posted_.fetch_add(1);
        posted_.notify_one();
        turns_.expect();
      }),
      schedule_(config.turn, read_clock, read_processor_time),
      spin_(config.spin, config.spin_for, usable_processors()),
      stall_(config.stall),
      begun_(!config.waits_for_begin),
      thread_([this] { run(); }) {
  if (config_.on_held) {
    watch_.emplace(
        turns_, config_.held_after, [this] { return !frozen_ && mailbox_.waiting(); },
        config_.on_held);
  }
}

Worker::~Worker() {
  thaw();
  // A message, since the wake alone may be used up by a look at the sockets.
  mailbox_.post([this] { stopping_ = true; });
  mailbox_.close();
  thread_.join();
  watch_.reset();
}

void Worker::prepare_thread() const {
  pthread_setname_np(pthread_self(), "worker");
  // The default slack lets the kernel wake us 50 us late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  if (!config_.cpu) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(*config_.cpu, &set);
  const int failed = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  if (failed != 0) {
    log::warn("worker: cannot run on processor {}: {}", *config_.cpu, std::strerror(failed));
  }
}

void Worker::run() {
  prepare_thread();
  while (true) {
    deliver();
    if (stopping_) return;
    if (!begun_) {
      wait_for_message();
      continue;
    }
    runs_in_memory([this] { look_at_sockets(schedule_.time()); });
    const bool worked = schedule_.round();
    counters_.rounds.add();
    turns_.turned();
    if (worked) counters_.busy_rounds.add();
    if (schedule_.time() >= sign_.next) tell_turn(schedule_.time());
    stall_for_test(schedule_.time());
    rest(schedule_.time(), worked);
  }
}

// Sockets that are watched already would wake a loop again and again.
void Worker::wait_for_message() {
  turns_.falls_asleep();
  const std::uint32_t seen = posted_.load();
  if (!mailbox_.waiting()) posted_.wait(seen);
  schedule_.tell_time();
  turns_.wakes_up();
}

void Worker::tell_turns(Duration every, std::function<void()> tell) {
  post([this, every, tell = std::move(tell)]() mutable {
    sign_ = {.every = every, .tell = std::move(tell), .next = {}};
  });
}

void Worker::tell_turn(Instant now) {
  sign_.next = now + sign_.every;
  runs_in_memory([this] { sign_.tell(); });
}

bool Worker::freeze(std::function<void()> act) {
  standstill_ = std::make_shared<Standstill>();
  const bool posted = post([this, still = standstill_, act = std::move(act)] {
    turns_.falls_asleep();  // nothing is due until the thaw
    still->keep(act);
    turns_.wakes_up();
  });
  frozen_ = true;
  return posted && standstill_->wait(kFreezeLimit);
}

void Worker::thaw() {
  if (!standstill_) return;
  frozen_ = false;
  standstill_->end();
  standstill_.reset();
}

void Worker::deliver() {
  const std::size_t lost = mailbox_.deliver();
  if (lost == 0) return;
  complaints_.error(schedule_.time(), "worker: {} changes were lost for lack of memory", lost);
  if (config_.on_lost) config_.on_lost();
}

void Worker::look_at_sockets(Instant now) {
  if (now < next_socket_look_) return;
  const Result<int> ran = loop_->poll(Duration::zero());
  // A peer that was just active will be active again.
  if (ran && *ran == 0) next_socket_look_ = now + kSocketLook;
}

void Worker::rest(Instant now, bool worked) {
  const Instant next = worked ? now : std::min(schedule_.next_look(now), sign_.next);
  const Rest rest = spin_.after_round(now, worked, next);
  switch (rest.kind) {
    case Rest::Kind::kGoOn: return;
    case Rest::Kind::kSpin: pause_processor(); return;
    case Rest::Kind::kSleep: break;
  }
  if (mailbox_.waiting()) return;
  counters_.sleeps.add();
  std::optional<Duration> wait;
  if (rest.until != kNever) wait = std::max(rest.until - now, Duration::zero());
  turns_.falls_asleep();
  const Status slept = loop_->wait(wait);
  turns_.wakes_up();
  if (!slept) complaints_.error(now, "worker: {}", slept.error().message);
  next_socket_look_ = {};  // what woke us is looked at first
}

void Worker::stall_for_test(Instant now) {
  const Duration length = stall_.due(now);
  if (length == Duration::zero()) return;
  counters_.stalls.add();
  std::this_thread::sleep_for(length);
}

}  // namespace paravane::worker
