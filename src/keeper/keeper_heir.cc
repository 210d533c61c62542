// Keeper: what it does to the two engines of an upgrade, as its succession decides.

#include <sys/epoll.h>
#include <sys/wait.h>

#include <csignal>
#include <optional>
#include <utility>

#include "base/log.h"
#include "keeper/heir_start.h"
#include "keeper/keeper.h"
#include "privsep/estate_line.h"

namespace paravane::keeper {

void Keeper::look_for_heirs_end() {
  int status = 0;
  if (!heir_) return;
  if (::waitpid(heir_->pid, &status, WNOHANG) != heir_->pid) return on_heir_notes();
  heir_->pid = 0;
  on_heir_notes();  // its last ones
  close_heir();
  if (engine_ == 0) ++heirs_failed_;
  succession_.on_heir_ended(settings_.program.string() + " " + print_end(status), now());
  look_for_over();
}

Status Keeper::start_heir(const Crash* crash) {
  HeirStart start{.program = settings_.program,
                  .file = -1,
                  .config_file = settings_.file,
                  .config_text = settings_.text,
                  .holder_line = {},
                  .crash = crash != nullptr ? std::optional(*crash) : std::nullopt};
  UniqueFd kept;
  if (holding_.holder) {
    auto line = HolderProcess::make_engine_line();
    if (!line) return std::unexpected(line.error());
    start.holder_line = std::move((*line)[0]);
    kept = std::move((*line)[1]);
  }
  auto started = crash != nullptr ? start_after_crash(start) : keeper::start_heir(start);
  if (!started) return std::unexpected(started.error());
  heir_.emplace(Heir{.pid = started->pid,
                     .link = std::move(started->link),
                     .estate = std::move(started->estate),
                     .kept = std::move(kept),
                     .program = std::move(started->program)});
  return loop_->watch(heir_->link.fd(), EPOLLIN, [this](std::uint32_t) { on_heir_notes(); });
}

// The program on disk may be broken, or be a package's that is just being replaced, and the one
// that ran may be what ends: they take turns.
Result<StartedHeir> Keeper::start_after_crash(HeirStart& start) {
  if (heirs_failed_ % 2 == 0) {
    auto started = keeper::start_heir(start);
    if (started) return started;
    log::error("{}; the program that ran before is started instead", started.error().message);
  }
  UniqueFd own;
  if (!engines_program_) {
    auto opened = open_own_program();
    if (!opened) return std::unexpected(opened.error());
    own = std::move(*opened);
  }
  start.file = engines_program_ ? engines_program_.get() : own.get();
  return keeper::start_heir(start);
}

// Without a pause afterwards, in which VMs would stand still: an heir lives for seconds.
void Keeper::on_heir_notes() {
  for (int i = 0; i < kNotesAtOnce && heir_; ++i) {
    const auto note = heir_->link.receive();
    if (!note) loop_->unwatch(heir_->link.fd());
    if (!note || !*note) break;
    succession_.on_heir_note(**note, now());
  }
}

bool Keeper::tell_heir(const privsep::Note& note) {
  return heir_ && heir_->link.send(note);
}

bool Keeper::give_estate_line(const privsep::Note& note) {
  if (!heir_) return false;
  const UniqueFd line = std::move(heir_->estate);  // the keeper has no side of it afterwards
  return link_.send(note, line);
}

bool Keeper::give_what_is_held() {
  if (!heir_) return false;
  UniqueFd line = std::move(heir_->estate);
  if (holding_.holder && holding_.holder->give(line)) return true;
  log::error("what was kept of the engine is lost, and VMs that run lose their adapter");
  return privsep::EstateLine(std::move(line)).end(now()).has_value();
}

// Its end is reported by SIGCHLD afterwards.
bool Keeper::is_heir_alive() {
  siginfo_t ended{};
  if (!heir_ || heir_->pid == 0) return false;
  const auto pid = static_cast<id_t>(heir_->pid);
  return ::waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

void Keeper::kill_engine() {
  stop_engine(SIGKILL);
}

void Keeper::kill_heir() {
  if (!heir_ || heir_->pid == 0) return;
  heir_->estate.reset();
  if (::kill(heir_->pid, SIGKILL) == 0) return;
  // As in stop_engine().
  loop_->unwatch(heir_->link.fd());
  heir_->link.close();
}

void Keeper::close_heir() {
  loop_->unwatch(heir_->link.fd());
  heir_.reset();
}

void Keeper::succeed() {
  if (!heir_) return;
  heirs_failed_ = 0;
  loop_->unwatch(link_.fd());
  loop_->unwatch(heir_->link.fd());
  engine_ = heir_->pid;
  link_ = std::move(heir_->link);
  engines_program_ = std::move(heir_->program);
  if (holding_.holder) holding_.holder->hear_engine(heir_->kept);
  heir_.reset();
  make_sockets();
  if (switches_) switches_->take_back_all();
  etcd_.on_new_engine();
  const Status watched = loop_->watch(link_.fd(), EPOLLIN, [this](std::uint32_t) { on_notes(); });
  if (!watched) log::error("keeper: {}", watched.error().message);
  is_to_tell_ = true;
  if (!log_level_.empty()) {
    link_.send({.kind = privsep::Note::Kind::kLogLevel, .text = log_level_});
  }
}

}  // namespace paravane::keeper
