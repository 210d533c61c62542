// EtcdService: the cluster's etcd on the authority's host, when the operator has none:
// Debian's, as the engine's user, with its data below the state directory. What it is
// started with comes from paravaned.toml alone; the engine only says that it is wanted.
// It is started again when it ends, then for its own host alone, and ends with the daemon.
//
// Keeper's thread.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/instant.h"
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
  [[noreturn]] void become_etcd(char* const* arguments, pid_t keeper) const;
  void end();

  settings::Config config_;
  settings::EngineAccount account_;
  privsep::EtcdReach reach_ = privsep::EtcdReach::kOff;
  pid_t pid_ = -1;
  Instant started_{};
  Instant next_try_{};
  Duration pause_{};
};

}  // namespace paravane::keeper
