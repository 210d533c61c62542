#include "keeper/keeper.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/signals.h"
#include "base/version.h"
#include "keeper/heir_start.h"
#include "keeper/keeper_exec.h"
#include "privsep/dialer.h"
#include "privsep/heir_facts.h"
#include "privsep/machine_line.h"
#include "privsep/roce_port_note.h"
#include "privsep/uplink_note.h"
#include "settings/config_file.h"

namespace paravane::keeper {
namespace {

constexpr int kMostHolders = 10;
constexpr auto kPause = std::chrono::milliseconds(10);

ExitStatus judge(int wait_status) {
  if (WIFEXITED(wait_status)) return static_cast<ExitStatus>(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);  // a real-time signal has none
  log::error("the engine was killed by signal {} ({}){}", number, name == nullptr ? "RT" : name,
             number == SIGSYS ? ": it made a forbidden system call, which may be a sign of a "
                                "compromise. Please report it"
                              : "");
  return ExitStatus::kFailed;
}

}  // namespace

Keeper::Keeper(pid_t engine, privsep::ProcessLink link, Notifier notifier, Settings settings,
               std::unique_ptr<LocalSwitches> switches,
               std::unique_ptr<privsep::MachineLooker> machine, Holding holding)
    : engine_(engine),
      link_(std::move(link)),
      notifier_(std::move(notifier)),
      settings_(std::move(settings)),
      local_switches_(std::move(switches)),
      machine_(std::move(machine)),
      holding_(std::move(holding)),
      etcd_(settings_.config, settings_.account),
      succession_(*this, kVersion),
      engine_watch_(settings_.watchdog, Succession::kLongest) {}

ExitStatus Keeper::run() {
  adopt_orphans();
  if (Status watching = watch(); !watching) {
    log::error("cannot start: {}", watching.error().message);
    return ExitStatus::kFailed;  // and the engine ends with us
  }
  if (before_) take_up();
  while (!ended_) {
    if (const Result<int> ran = loop_->poll(pause()); !ran) {
      log::error("keeper: {}", ran.error().message);
      return ExitStatus::kFailed;
    }
    sockets_->drop_late(now());
    etcd_.step(now());
    if (switches_) switches_->step(now());
    give_roce_ports();
    give_uplink_taps();
    succession_.step(now());
    stop_when_certain();
    change_program();
    watch_engine();
    if (now() >= orphans_.next_look()) look_for_orphans();
    if (std::exchange(noted_, false)) std::this_thread::sleep_for(kPause);
  }
  return *ended_;
}

// Until something is due without news; nullopt: nothing.
std::optional<Duration> Keeper::pause() const {
  Instant next = std::min({sockets_->next_deadline(), etcd_.next_step(), succession_.next_step(),
                           engine_watch_.next_step(), orphans_.next_look()});
  if (switches_) next = std::min(next, switches_->next_step());
  if (next == kNever) return std::nullopt;
  return std::max(next - now(), Duration{});
}

Status Keeper::watch() {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  etcd_.hear_through(*loop_);
  if (local_switches_) {
    switches_ = std::make_unique<SwitchFollower>(
        *loop_, std::move(local_switches_), !settings_.config.cluster.address.empty(),
        [this](std::string news) {
          return link_.send({.kind = privsep::Note::Kind::kSwitchNews, .text = std::move(news)});
        });
  }
  make_sockets();
  auto signals = open_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
  if (!signals) return std::unexpected(signals.error());
  signals_ = std::move(*signals);
  Status watched = loop_->watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
  if (!watched) return watched;
  return loop_->watch(link_.fd(), EPOLLIN, [this](std::uint32_t) { on_notes(); });
}

void Keeper::resume(KeeperRecord record, std::string refused) {
  told_ready_ = record.told_ready;
  log_level_ = record.log_level;
  holders_ended_ = static_cast<int>(record.holders_ended);
  succession_.resume(record.succession, now());
  before_ = std::move(record);
  refused_ = std::move(refused);
}

void Keeper::take_up() {
  const KeeperRecord before = std::move(*before_);
  before_.reset();
  etcd_.resume(before.etcd);
  if (switches_ && before.switches) switches_->resume(*before.switches, now());
  if (refused_.empty()) {
    log::info("the keeper was replaced: {} by {}", before.version, kVersion);
    tell_version();
  } else {
    stay(refused_);
  }
  // The news of a child's end may have come to the program before.
  look_for_ends();
}

// Between two engines' requests: there is no socket that is being made, no RoCE port or tap of an
// uplink that the engine has, and no heir.
KeeperRecord Keeper::record() {
  KeeperRecord record{.version = kVersion,
                      .program = settings_.program.string(),
                      .config_file = settings_.file,
                      .config_text = settings_.text,
                      .account = settings_.account,
                      .log_level = log_level_,
                      .told_ready = told_ready_,
                      .engine = {.pid = engine_, .line = link_.fd()},
                      .holder = {},
                      .holders_ended = static_cast<std::uint32_t>(holders_ended_),
                      .succession = succession_.saved(),
                      .etcd = etcd_.saved(),
                      .switches = {}};
  if (holding_.holder)
    record.holder = {.pid = holding_.holder->pid(), .line = holding_.holder->line()};
  if (switches_) record.switches = switches_->saved();
  return record;
}

void Keeper::replace_keeper(std::uint32_t form) {
  if (form == privsep::kKeeperRecord) {
    is_to_change_ = true;
  } else {
    stay(
        fmt::format("paravaned {} reads another form of what the keeper leaves ({}; this one "
                    "writes {})",
                    succession_.saved().version, form, privsep::kKeeperRecord));
  }
}

// Before the first note of the new engine is read, which would be answered by half.
void Keeper::change_program() {
  const bool is_to_tell = std::exchange(is_to_tell_, false);
  if (!std::exchange(is_to_change_, false) || is_stopping_ || told_stopping_ || ended_) {
    if (is_to_tell) tell_version();
    return;
  }
  if (settings_.watchdog != Duration{}) notifier_.watchdog();
  if (settings_.flush_log) settings_.flush_log();
  stay(keeper::replace_keeper(engines_program_, record()).message);
}

void Keeper::stay(const std::string& cause) {
  is_to_tell_ = false;
  stays_because_ = cause;
  log::error(
      "the keeper stays paravaned {}: {}. The new engine serves, and nothing is lost. To replace "
      "the keeper, repeat the upgrade (paravane daemon upgrade), or restart paravaned when its VMs "
      "are shut down",
      kVersion, cause);
  tell_version();
}

void Keeper::tell_version() const {
  const std::string cause = stays_because_.empty() ? "" : " " + stays_because_;
  link_.send({.kind = privsep::Note::Kind::kKeeper, .text = kVersion + cause});
}

// Another one forgets what the last engine has asked for, so its successor is not answered.
void Keeper::make_sockets() {
  sockets_ = std::make_unique<SocketMaker>(
      *loop_,
      SocketMakerConfig{
          .cluster = settings_.config.cluster,
          .channel = settings_.config.channel,
          .metrics = settings_.config.metrics,
          .vmkernel =
              [this] { return switches_ ? switches_->addresses() : std::vector<Ipv4Interface>(); }},
      [this](std::string_view id, Result<UniqueFd> socket) { answer(id, std::move(socket)); });
}

void Keeper::on_signal() {
  const std::optional<int> number = next_signal(signals_);
  if (!number) return;
  switch (*number) {
    case SIGHUP: reload_log_level(); return;
    case SIGCHLD: look_for_ends(); return;
    default:
      succession_.give_up("the daemon is stopping", now());
      is_stopping_ = true;
      stop_signal_ = *number;
      stop_when_certain();
  }
}

// While an upgrade is under way, it is not certain which engine there is to stop.
void Keeper::stop_when_certain() {
  if (stop_signal_ == 0 || succession_.is_busy()) return;
  stop_engine(std::exchange(stop_signal_, 0));
}

void Keeper::stop_engine(int number) {
  if (engine_ == 0) return;
  if (::kill(engine_, number) == 0) return;
  // Without CAP_KILL, as in a container. It also stops when the line ends.
  loop_->unwatch(link_.fd());
  link_.close();
}

void Keeper::answer(std::string_view id, Result<UniqueFd> socket) const {
  if (socket) {
    link_.send({.kind = privsep::Note::Kind::kSocket, .text = std::string(id)}, *socket);
  } else {
    link_.send({.kind = privsep::Note::Kind::kSocket,
                .text = privsep::Dialer::refusal(id, socket.error())});
  }
}

// A port whose descriptor is lost, because the engine does not read, is opened again by the next
// look at the switches.
void Keeper::give_roce_ports() {
  if (!switches_) return;
  for (const OpenedRocePort& port : switches_->take_opened_ports()) {
    const privsep::Note note{
        .kind = privsep::Note::Kind::kRocePort,
        .text = privsep::print(privsep::RocePortNote{.adapter = {port.vm, port.adapter},
                                                     .making = port.making,
                                                     .mtu = port.mtu,
                                                     .takes_superframes = port.takes_superframes})};
    if (link_.send(note, port.tap)) continue;
    switches_->take_back(port);
    log::warn("RoCE port of {}/{}: the engine did not take it", port.vm, port.adapter);
  }
}

// As above.
void Keeper::give_uplink_taps() {
  if (!switches_) return;
  for (const OpenedUplinkTap& opened : switches_->take_opened_taps()) {
    const UplinkTap& tap = opened.wanted;
    const privsep::Note note{.kind = privsep::Note::Kind::kUplinkTap,
                             .text = privsep::print(privsep::UplinkNote{.uplink = tap.uplink,
                                                                        .vlan = tap.vlan,
                                                                        .tagged = tap.tagged,
                                                                        .making = tap.making,
                                                                        .mtu = tap.mtu})};
    if (link_.send(note, opened.tap)) continue;
    switches_->take_back(opened);
    tap_log_.warn(now(), "tap {} of an IPoIB uplink: the engine did not take it", tap.name);
  }
}

void Keeper::look_for_ends() {
  etcd_.look_for_end(now());
  look_for_holders_end();
  look_for_heirs_end();
  look_for_engines_end();
  look_for_orphans();
}

void Keeper::look_for_orphans() {
  orphans_.look(std::array{etcd_.pid(), holding_.holder ? holding_.holder->pid() : 0,
                           heir_ ? heir_->pid : 0, engine_},
                now());
}

void Keeper::look_for_engines_end() {
  int status = 0;
  if (engine_ == 0 || ::waitpid(engine_, &status, WNOHANG) != engine_) return;
  on_notes();  // its last ones
  engine_ = 0;
  // One that could not start, or was told to stop, has no successor.
  const bool may_go_on = holding_.holder && told_ready_ && !told_stopping_ && !is_stopping_;
  if (!succession_.on_engine_ended(crash_of(status), may_go_on, now())) {
    ended_ = judge(status);
  } else if (WIFSIGNALED(status)) {
    judge(status);
  }
  look_for_over();
}

// One that hung did so in the turn of a VM, as far as is known, or between two.
Crash Keeper::crash_of(int wait_status) {
  if (!hung_.empty()) return {.how = std::exchange(hung_, {}), .came_from_outside = false};
  return {.how = print_end(wait_status),
          .came_from_outside = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL};
}

EngineWatch::Life Keeper::life_of_engine() const {
  if (!told_ready_ || told_stopping_ || is_stopping_ || ended_) return EngineWatch::Life::kAway;
  return succession_.is_busy() ? EngineWatch::Life::kChanging : EngineWatch::Life::kServing;
}

void Keeper::watch_engine() {
  switch (engine_watch_.step(now(), life_of_engine())) {
    case EngineWatch::Act::kNothing: return;
    case EngineWatch::Act::kFeed: return notifier_.watchdog();
    case EngineWatch::Act::kKill: return kill_hung_engine();
    case EngineWatch::Act::kDemand: {
      const auto every =
          std::chrono::duration_cast<std::chrono::microseconds>(engine_watch_.every());
      // One that does not read gets it again.
      link_.send({.kind = privsep::Note::Kind::kTellTurns, .text = std::to_string(every.count())});
    }
  }
}

void Keeper::kill_hung_engine() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(engine_watch_.overdue());
  hung_ = "hung, and was killed";
  log::error(
      "the engine hangs: its worker has given no sign for {} s more than it may. It is killed, and "
      "another engine serves its VMs. If a debugger holds it, or the host stalls for so long, "
      "raise "
      "WatchdogSec= of the unit",
      seconds.count());
  kill_engine();
}

// Another one starts with nothing, and the engine keeps everything anew.
void Keeper::look_for_holders_end() {
  int status = 0;
  auto& holder = holding_.holder;
  if (!holder || ::waitpid(holder->pid(), &status, WNOHANG) != holder->pid()) return;
  holder.reset();
  if (++holders_ended_ > kMostHolders) {
    return log::error(
        "the holder {}, again, and is not started any more: VMs lose their adapter if "
        "the engine is killed",
        print_end(status));
  }
  log::error("the holder {}; it is started again", print_end(status));
  auto another = holding_.start_another();
  auto line = another ? another->new_engine() : std::unexpected(another.error());
  if (!line) {
    return log::error(
        "the holder cannot be started, so VMs lose their adapter if the engine is "
        "killed: {}",
        line.error().message);
  }
  holder = std::move(*another);
  link_.send({.kind = privsep::Note::Kind::kHolder, .text = {}}, *line);
}

void Keeper::look_for_over() {
  if (succession_.is_over()) ended_ = ExitStatus::kFailed;
}

void Keeper::on_notes() {
  Heard heard;
  for (int i = 0; i < kNotesAtOnce && take_note(heard); ++i) continue;
  if (heard.status) notifier_.status(*heard.status);
  if (heard.turns && engine_watch_.on_turns(now())) notifier_.watchdog();
  if (heard.switch_plan && switches_) {
    link_.send({.kind = privsep::Note::Kind::kSwitchReport,
                .text = switches_->answer(*heard.switch_plan, now())});
  }
  if (heard.machine_question && machine_) {
    link_.send({.kind = privsep::Note::Kind::kMachineReport,
                .text = privsep::answer_machine_question(*heard.machine_question, *machine_)});
  }
  noted_ = true;
}

bool Keeper::take_note(Heard& heard) {
  const auto note = link_.receive();
  if (!note) loop_->unwatch(link_.fd());
  if (!note || !*note) return false;
  switch ((*note)->kind) {
    case privsep::Note::Kind::kReady:
      if (std::exchange(told_ready_, true)) {
        heard.status = (*note)->text;  // of an engine that has taken over
      } else {
        notifier_.ready((*note)->text);
      }
      break;
    case privsep::Note::Kind::kStatus: heard.status = (*note)->text; break;
    case privsep::Note::Kind::kSwitchPlan: heard.switch_plan = (*note)->text; break;
    case privsep::Note::Kind::kMachineQuestion: heard.machine_question = (*note)->text; break;
    case privsep::Note::Kind::kStopping:
      if (!std::exchange(told_stopping_, true)) notifier_.stopping();
      break;
    case privsep::Note::Kind::kTurns: heard.turns = true; break;
    case privsep::Note::Kind::kDial: sockets_->dial((*note)->text, now()); break;
    case privsep::Note::Kind::kListen: sockets_->listen((*note)->text); break;
    case privsep::Note::Kind::kEtcd:
      etcd_.want(privsep::parse_etcd_reach((*note)->text), now());
      break;
    case privsep::Note::Kind::kNone:
    case privsep::Note::Kind::kLogLevel:
    case privsep::Note::Kind::kSocket:
    case privsep::Note::Kind::kSwitchReport:
    case privsep::Note::Kind::kMachineReport:
    case privsep::Note::Kind::kSwitchNews:
    case privsep::Note::Kind::kRocePort:
    case privsep::Note::Kind::kUplinkTap:
    case privsep::Note::Kind::kTellTurns:
    case privsep::Note::Kind::kKeeper:
    case privsep::Note::Kind::kHolder: break;  // not the engine's to say
    case privsep::Note::Kind::kUpgrade:
    case privsep::Note::Kind::kHeirReady:
    case privsep::Note::Kind::kHandOver:
    case privsep::Note::Kind::kTaken:
    case privsep::Note::Kind::kCannot:
    case privsep::Note::Kind::kLetGo:
    case privsep::Note::Kind::kGo:
    case privsep::Note::Kind::kResume: succession_.on_engine_note(**note, now()); break;
  }
  return true;
}

void Keeper::reload_log_level() {
  if (settings_.file.empty()) return;
  const Result<settings::Config> fresh = settings::load_config(settings_.file);
  if (!fresh) {
    log::error("cannot reload the configuration: {}", fresh.error().message);
    return;
  }
  log_level_ = fresh->log.level;
  link_.send({.kind = privsep::Note::Kind::kLogLevel, .text = log_level_});
}

}  // namespace paravane::keeper
