// Daemon: paravaned's process: its control thread (this one), signals, the API,
// and the order of start and stop.

#pragma once

#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "daemon/api_server.h"
#include "daemon/config.h"
#include "daemon/control_door.h"
#include "daemon/host.h"
#include "daemon/mailbox.h"
#include "daemon/notify.h"

namespace paravane::daemon {

// Exit statuses, as paravaned(8) lists them.
enum class ExitStatus : int {
  kOk = 0,
  kFailed = 1,     // could not start: the log says why
  kUsage = 2,      // wrong command line
  kBadConfig = 3,  // paravaned.toml is broken
};

class Daemon {
 public:
  Daemon(Config config, std::string config_file, Notifier notifier);

  // Returns when the daemon has been told to stop.
  ExitStatus run();

 private:
  Status prepare_process();
  Status start();
  void serve();
  void tell_status();
  void stop();
  void on_signal();
  void reload_log_level();
  std::string summary() const;

  Config config_;
  std::string config_file_;
  Notifier notifier_;
  std::string told_;  // the service manager
  bool stopping_ = false;
  UniqueFd signals_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<ControlDoor> door_;
  std::unique_ptr<ApiServer> api_;
};

}  // namespace paravane::daemon
