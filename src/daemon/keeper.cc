#include "daemon/keeper.h"

#include <sys/epoll.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/log.h"
#include "daemon/config_file.h"
#include "daemon/signals.h"

namespace paravane::daemon {
namespace {

// The engine, or whoever has broken into it and given the line away, may say more than
// the service manager is to hear, and for ever.
constexpr int kNotesAtOnce = 64;
constexpr auto kPause = std::chrono::milliseconds(10);

ExitStatus judge(int wait_status) {
  if (WIFEXITED(wait_status)) return static_cast<ExitStatus>(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);  // a real-time signal has none
  log::error("the engine was ended by signal {} ({}){}", number, name == nullptr ? "RT" : name,
             number == SIGSYS ? ": it asked the kernel for what it has no use for, as after a "
                                "break-in. Please report it"
                              : "");
  return ExitStatus::kFailed;
}

}  // namespace

Keeper::Keeper(pid_t engine, ProcessLink link, Notifier notifier, std::string config_file)
    : engine_(engine),
      link_(std::move(link)),
      notifier_(std::move(notifier)),
      config_file_(std::move(config_file)) {}

ExitStatus Keeper::run() {
  if (Status watching = watch(); !watching) {
    log::error("cannot start: {}", watching.error().message);
    return ExitStatus::kFailed;  // and the engine ends with us
  }
  while (!ended_) {
    if (const Result<int> ran = loop_->poll(std::nullopt); !ran) {
      log::error("keeper: {}", ran.error().message);
      return ExitStatus::kFailed;
    }
    if (std::exchange(noted_, false)) std::this_thread::sleep_for(kPause);
  }
  return *ended_;
}

Status Keeper::watch() {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  auto signals = open_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
  if (!signals) return std::unexpected(signals.error());
  signals_ = std::move(*signals);
  Status watched = loop_->watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
  if (!watched) return watched;
  return loop_->watch(link_.fd(), EPOLLIN, [this](std::uint32_t) { on_notes(); });
}

void Keeper::on_signal() {
  const std::optional<int> number = next_signal(signals_);
  if (!number) return;
  switch (*number) {
    case SIGHUP: reload_log_level(); return;
    case SIGCHLD: look_for_end(); return;
    default: stop_engine(*number);
  }
}

void Keeper::stop_engine(int number) {
  if (::kill(engine_, number) == 0) return;
  // Without CAP_KILL, as in a container. It also stops when the line ends.
  loop_->unwatch(link_.fd());
  link_.close();
}

void Keeper::look_for_end() {
  int status = 0;
  if (::waitpid(engine_, &status, WNOHANG) != engine_) return;
  on_notes();  // its last ones
  ended_ = judge(status);
}

void Keeper::on_notes() {
  std::optional<std::string> status;
  for (int i = 0; i < kNotesAtOnce && take_note(status); ++i) continue;
  if (status) notifier_.status(*status);
  noted_ = true;
}

bool Keeper::take_note(std::optional<std::string>& status) {
  const auto note = link_.receive();
  if (!note) loop_->unwatch(link_.fd());
  if (!note || !*note) return false;
  switch ((*note)->kind) {
    case Note::Kind::kReady:
      if (!std::exchange(told_ready_, true)) notifier_.ready((*note)->text);
      break;
    case Note::Kind::kStatus: status = (*note)->text; break;
    case Note::Kind::kStopping:
      if (!std::exchange(told_stopping_, true)) notifier_.stopping();
      break;
    case Note::Kind::kNone:
    case Note::Kind::kLogLevel: break;  // not the engine's to say
  }
  return true;
}

void Keeper::reload_log_level() const {
  if (config_file_.empty()) return;
  const Result<Config> fresh = load_config(config_file_);
  if (!fresh) {
    log::error("the configuration was not read again: {}", fresh.error().message);
    return;
  }
  link_.send({.kind = Note::Kind::kLogLevel, .text = fresh->log.level});
}

}  // namespace paravane::daemon
