#include "daemon/keeper.h"

#include <sys/epoll.h>
#include <sys/wait.h>

#include <cstring>
#include <utility>

#include "base/log.h"
#include "daemon/config_file.h"
#include "daemon/signals.h"

namespace paravane::daemon {
namespace {

ExitStatus judge(int wait_status) {
  if (WIFEXITED(wait_status)) return static_cast<ExitStatus>(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  log::error("the engine was ended by signal {} ({}){}", number, sigabbrev_np(number),
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
  return loop_->watch(link_.fd(), EPOLLIN, [this](std::uint32_t) { on_note(); });
}

void Keeper::on_signal() {
  const std::optional<int> number = next_signal(signals_);
  if (!number) return;
  switch (*number) {
    case SIGHUP: reload_log_level(); return;
    case SIGCHLD: look_for_end(); return;
    default: ::kill(engine_, *number);
  }
}

void Keeper::look_for_end() {
  int status = 0;
  if (::waitpid(engine_, &status, WNOHANG) != engine_) return;
  while (on_note()) continue;  // its last ones
  ended_ = judge(status);
}

bool Keeper::on_note() {
  const auto note = link_.receive();
  if (!note) loop_->unwatch(link_.fd());
  if (!note || !*note) return false;
  switch ((*note)->kind) {
    case Note::Kind::kReady: notifier_.ready((*note)->text); break;
    case Note::Kind::kStatus: notifier_.status((*note)->text); break;
    case Note::Kind::kStopping: notifier_.stopping(); break;
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
