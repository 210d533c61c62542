// Keeper: the process of paravaned that keeps its rights. It parses nothing that a
// guest, a VMM, a peer or an API client sends: it has made the engine, passes
// signals on, reads the operator's settings again, speaks with the service manager,
// and ends when the engine has ended.

#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "daemon/exit_status.h"
#include "daemon/notify.h"
#include "daemon/process_link.h"

namespace paravane::daemon {

class Keeper {
 public:
  // `config_file` may be empty: there is none. REQUIRES: SIGTERM, SIGINT, SIGHUP and
  // SIGCHLD are blocked.
  Keeper(pid_t engine, ProcessLink link, Notifier notifier, std::string config_file);

  // Returns the engine's exit status when it has ended.
  ExitStatus run();

 private:
  Status watch();
  void on_signal();
  void stop_engine(int number);
  void on_notes();
  // False: there was none. `status`: what it says of it.
  bool take_note(std::optional<std::string>& status);
  void reload_log_level() const;
  void look_for_end();

  pid_t engine_;
  ProcessLink link_;
  Notifier notifier_;
  std::string config_file_;
  std::unique_ptr<EventLoop> loop_;
  UniqueFd signals_;
  bool noted_ = false;  // since the last pause
  bool told_ready_ = false;
  bool told_stopping_ = false;
  std::optional<ExitStatus> ended_;
};

}  // namespace paravane::daemon
