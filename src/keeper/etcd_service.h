// EtcdService: runs the cluster's etcd on the authority's host, unless the operator provides one.
// It is Debian's etcd, runs as the engine's user and keeps its data below the state directory. Its
// arguments come from paravaned.toml alone; the engine only requests it. When it exits it is
// started again, reachable from its own host only, and it stops with the daemon.
//
// Keeper's thread.

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
  // Ends it, and waits for that.
  ~EtcdService();
  EtcdService(const EtcdService&) = delete;
  EtcdService& operator=(const EtcdService&) = delete;

  // What it says goes to our log from its next start on. `loop` outlives us.
  void hear_through(EventLoop& loop) { heard_.emplace(loop); }
  // Another reach is another start, at most one a second.
  void want(privsep::EtcdReach reach, Instant now);
  // Starts it if it is due.
  void step(Instant now);
  Instant next_step() const { return wanted() && pid_ <= 0 ? next_try_ : kNever; }
  // A child has ended: was it ours? Looks for itself.
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
  pid_t pid_ = -1;
  Instant started_{};
  Instant next_try_{};
  Duration pause_{};
  std::optional<EtcdLog> heard_;  // none: it has our standard error
  LimitedLog log_;
};

}  // namespace paravane::keeper
