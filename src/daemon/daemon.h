// Daemon: the engine, paravaned's process that serves guests: its control thread
// (this one), signals, the API, and the order of start and stop.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "control/api_handler.h"
#include "control/event_log.h"
#include "daemon/api_server.h"
#include "daemon/cluster_door.h"
#include "daemon/cluster_fabric.h"
#include "daemon/cluster_service.h"
#include "daemon/config.h"
#include "daemon/dialer.h"
#include "daemon/engine_account.h"
#include "base/exit_status.h"
#include "daemon/host.h"
#include "daemon/machine_line.h"
#include "base/mailbox.h"
#include "daemon/metrics_carrier.h"
#include "daemon/metrics_handler.h"
#include "daemon/metrics_port.h"
#include "daemon/process_link.h"
#include "daemon/switch_line.h"

namespace paravane::daemon {

class Daemon {
 public:
  // `config_file`, for status, may be empty. REQUIRES: SIGTERM and SIGINT are blocked.
  Daemon(Config config, std::string config_file, EngineAccount account, ProcessLink keeper);

  // Returns when the daemon has been told to stop.
  ExitStatus run();

 private:
  Status start();
  Status start_control();
  void make_cluster();
  void make_fabric();
  void on_view(const std::shared_ptr<const inventory::View>& view);
  Status open_doors();
  void on_inventory(const inventory::MemberState& state);
  void serve();
  void tell_status();
  void stop();
  void on_signal();
  void on_note();
  void take_note(ProcessLink::NoteWithSocket received);
  std::string summary() const;

  Config config_;
  std::string config_file_;
  EngineAccount account_;
  control::EventLog events_;
  std::optional<bool> inventory_told_;  // whether it can be reached; of the cluster's thread
  ProcessLink keeper_;
  SwitchLine switches_;
  MachineLine machine_;
  std::string told_;  // the keeper
  bool stopping_ = false;
  UniqueFd signals_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Mailbox> mailbox_;
  Dialer dialer_;
  std::unique_ptr<ClusterService> cluster_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<ClusterFabric> fabric_;
  std::unique_ptr<ClusterDoor> door_;
  RequestCounts requests_;
  std::optional<MetricsCarrier> carrier_;
  std::optional<MetricsHandler> metrics_;
  std::optional<control::ApiHandler> handler_;
  std::optional<ObservedApi> observed_;
  std::unique_ptr<ApiServer> api_;
  std::optional<MetricsPort> metrics_port_;
};

}  // namespace paravane::daemon
