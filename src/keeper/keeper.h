// Keeper is the process of paravaned that keeps root's privileges. It starts the engine, the
// unprivileged process that serves guests, and parses no data from a guest, a VMM, a peer or an API
// client.
//
// It forwards signals, reloads settings, reports to the service manager, and kills an engine that
// hangs, if there is a watchdog (keeper/engine_watch.h). It also performs the
// tasks that the engine has no permission for. These are to create sockets to other hosts, create
// and repair the distributed switches, read the hardware inventory, and run etcd. It exits when the
// engine has ended, unless another engine has taken over from it (keeper/succession.h). After an
// upgrade it is replaced by the new engine's program, in the same process (keeper/keeper_exec.h).

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "base/exit_status.h"
#include "base/limited_log.h"
#include "base/unique_fd.h"
#include "keeper/engine_watch.h"
#include "keeper/etcd_service.h"
#include "keeper/heir_start.h"
#include "keeper/holder_process.h"
#include "keeper/keeper_record.h"
#include "keeper/notify.h"
#include "keeper/orphans.h"
#include "keeper/socket_maker.h"
#include "keeper/succession.h"
#include "keeper/switch_follower.h"
#include "privsep/machine_looker.h"
#include "privsep/process_link.h"

namespace paravane::keeper {

class Keeper : private SuccessionHands {
 public:
  // The settings that the engine was started with. `file` is empty if there is no configuration
  // file.
  struct Settings {
    settings::Config config;
    std::string file;
    settings::EngineAccount account;
    std::string text{};  // of the file, as it was read
    std::filesystem::path
        program{};        // of the daemon, for an engine that takes over; empty: unknown
    Duration watchdog{};  // of the service manager (keeper/notify.h); zero: none
    // Has the lines of the log written, for a bounded time: another program will forget them.
    std::function<void()> flush_log{};
  };
  // `switches` creates them when the engine asks; null: not supported. `machine`, likewise,
  // reads the hardware inventory of this host.
  // REQUIRES: SIGTERM, SIGINT, SIGHUP and SIGCHLD are blocked.
  Keeper(pid_t engine, privsep::ProcessLink link, Notifier notifier, Settings settings,
         std::unique_ptr<LocalSwitches> switches = nullptr,
         std::unique_ptr<privsep::MachineLooker> machine = nullptr, Holding holding = {});

  // Goes on where the keeper before this one was; before run(). The arguments of the constructor
  // are of that record. `refused`: why the program that this one was replaced by could not read it;
  // empty: this one replaces another.
  void resume(KeeperRecord record, std::string refused);

  // Returns the engine's exit status when it has ended, and no other takes its place.
  ExitStatus run();

 private:
  // A compromised engine, or a process that it passed the line to, may send more than the service
  // manager should receive, and endlessly.
  static constexpr int kNotesAtOnce = 64;

  static Instant now() { return std::chrono::steady_clock::now(); }
  Status watch();
  void on_signal();
  void stop_engine(int number);
  void stop_when_certain();
  void on_notes();
  void on_heir_notes();
  // The last message of each kind, since an engine may send them without pause.
  struct Heard {
    std::optional<std::string> status;
    std::optional<std::string> switch_plan;
    std::optional<std::string> machine_question;
    bool turns = false;
  };
  // False: there was none.
  bool take_note(Heard& heard);
  void reload_log_level();
  void give_roce_ports();
  void give_uplink_taps();
  void look_for_ends();
  void look_for_orphans();
  void look_for_engines_end();
  void look_for_heirs_end();
  void look_for_over();
  void look_for_holders_end();
  void watch_engine();
  EngineWatch::Life life_of_engine() const;
  void kill_hung_engine();
  Crash crash_of(int wait_status);
  void make_sockets();
  void close_heir();
  void take_up();
  KeeperRecord record();
  void change_program();
  void stay(const std::string& cause);
  void tell_version() const;
  // ---- SuccessionHands (keeper_heir.cc) ----
  Status start_heir(const Crash* crash) override;
  Result<StartedHeir> start_after_crash(HeirStart& start);
  bool tell_engine(const privsep::Note& note) override { return link_.send(note); }
  bool tell_heir(const privsep::Note& note) override;
  bool give_estate_line(const privsep::Note& note) override;
  bool give_what_is_held() override;
  bool is_heir_alive() override;
  void kill_engine() override;
  void kill_heir() override;
  void succeed() override;
  void replace_keeper(std::uint32_t form) override;
  void answer(std::string_view id, Result<UniqueFd> socket) const;
  std::optional<Duration> pause() const;

  pid_t engine_;
  privsep::ProcessLink link_;
  Notifier notifier_;
  Settings settings_;
  std::unique_ptr<LocalSwitches> local_switches_;  // until watch()
  std::unique_ptr<privsep::MachineLooker> machine_;
  Holding holding_;
  int holders_ended_ = 0;
  std::unique_ptr<EventLoop> loop_;
  EtcdService etcd_;
  std::unique_ptr<SwitchFollower> switches_;  // null: none are created
  std::unique_ptr<SocketMaker> sockets_;
  UniqueFd signals_;
  LimitedLog tap_log_;
  bool noted_ = false;  // since the last pause
  bool told_ready_ = false;
  bool told_stopping_ = false;
  std::optional<ExitStatus> ended_;
  Succession succession_;
  EngineWatch engine_watch_;
  Orphans orphans_;
  std::string hung_;  // how the engine did that was killed for it; empty: it was not
  struct Heir {
    pid_t pid = 0;
    privsep::ProcessLink link;
    UniqueFd estate;  // the other side of its estate line, until it is given
    UniqueFd kept;    // the holder's side of its line, until it is the engine
    UniqueFd program;
  };
  std::optional<Heir> heir_;
  std::string log_level_;  // empty: as at the start
  bool is_stopping_ = false;
  int stop_signal_ = 0;                 // to be passed on; 0: none
  std::optional<KeeperRecord> before_;  // until watch()
  std::string refused_;
  UniqueFd engines_program_;   // of an engine that took over
  unsigned heirs_failed_ = 0;  // since an engine served
  bool is_to_change_ = false;
  bool is_to_tell_ = false;    // its version, to an engine that does not know what it will be
  std::string stays_because_;  // empty: it did not have to
};

}  // namespace paravane::keeper
