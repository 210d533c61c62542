// EtcdService runs the cluster's etcd on the host that manages the cluster (the authority), unless
// the operator provides another etcd. It runs Debian's etcd program as the user of the engine (the
// unprivileged process). The data of etcd is below the state directory. The arguments of the
// program come only from paravaned.toml. The engine could be compromised, so it controls only
// whether etcd runs and which hosts can connect to etcd.
//
// If etcd exits, it is started again, and then only this host can connect to it. etcd is stopped
// when the daemon stops, and goes on when the engine is replaced, and when the keeper is.
//
// Keeper's thread only.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/limited_log.h"
#include "keeper/etcd_log.h"
#include "privsep/etcd_reach.h"
#include "settings/config.h"
#include "settings/engine_account.h"

namespace paravane::keeper {

class EtcdService {
 public:
  EtcdService(const settings::Config& config, const settings::EngineAccount& account)
      : config_(config), account_(account) {}
  // What must not be forgotten when the keeper is replaced.
  struct Saved {
    privsep::EtcdReach reach{};
    bool engine_begins = false;
    pid_t pid = -1;  // -1: it does not run
    Instant started{};
    Instant next_try{};
    Duration pause{};
    int log = -1;  // the end of the pipe that we read; -1: none. Its owner is the EtcdService

    friend bool operator==(const Saved&, const Saved&) = default;
  };
  static constexpr Duration kLongestPause = std::chrono::seconds(30);  // between two starts

  // Stops etcd and waits until it has ended.
  ~EtcdService();
  EtcdService(const EtcdService&) = delete;
  EtcdService& operator=(const EtcdService&) = delete;

  // Copies its output to our log, from its next start on. `loop` outlives us.
  void hear_through(EventLoop& loop) { heard_.emplace(loop); }
  // Sets the wanted reach. A change restarts etcd, at most once a second.
  void want(privsep::EtcdReach reach, Instant now);
  // Another engine has taken over and begins with the least reach, as after a start. An etcd that
  // already has more keeps it: it has run since the engine before had compared its content.
  void on_new_engine() { engine_begins_ = true; }
  // What it has written so far has been passed on.
  Saved saved();
  // Of the keeper before this one, once. REQUIRES: hear_through().
  void resume(const Saved& saved);
  // Starts it if it is due.
  void step(Instant now);
  Instant next_step() const { return wanted() && pid_ <= 0 ? next_try_ : kNever; }
  pid_t pid() const { return pid_; }  // -1: it does not run
  // Call it when a child process has ended; it checks whether that was etcd.
  void look_for_end(Instant now);

 private:
  bool wanted() const { return reach_ != privsep::EtcdReach::kOff; }
  std::vector<std::string> command_line() const;
  [[noreturn]] void become_etcd(char* const* arguments, pid_t keeper, int log) const;
  void cannot_run(Instant now);
  void end();

  settings::Config config_;
  settings::EngineAccount account_;
  privsep::EtcdReach reach_ = privsep::EtcdReach::kOff;
  bool engine_begins_ = false;  // and has said nothing yet
  pid_t pid_ = -1;
  Instant started_{};
  Instant next_try_{};
  Duration pause_{};
  std::optional<EtcdLog> heard_;  // none: etcd writes to our standard error
  LimitedLog log_;
};

}  // namespace paravane::keeper
