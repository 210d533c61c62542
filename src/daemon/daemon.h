// Daemon: starts and stops the engine, the unprivileged process of paravaned that serves VMs, and
// runs its control thread. The control thread handles signals, the requests of operators, and the
// messages from the privileged process.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/api_handler.h"
#include "api/event_log.h"
#include "base/event_loop.h"
#include "base/exit_status.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/unique_fd.h"
#include "cluster/cluster_service.h"
#include "daemon/cluster_door.h"
#include "daemon/cluster_fabric.h"
#include "daemon/gap.h"
#include "daemon/trunk_fabric.h"
#include "host/host.h"
#include "http/api_server.h"
#include "metrics/metrics_carrier.h"
#include "metrics/metrics_handler.h"
#include "metrics/metrics_port.h"
#include "privsep/dialer.h"
#include "privsep/machine_line.h"
#include "privsep/process_link.h"
#include "privsep/switch_line.h"
#include "settings/config.h"
#include "settings/engine_account.h"

namespace paravane::daemon {

class Daemon {
 public:
  // `config_file` is shown in the status and may be empty. `lines.estate`: this side of the estate
  // line, for an engine that replaces another one; none: an engine that starts. REQUIRES: SIGTERM
  // and SIGINT are blocked.
  struct Lines {
    privsep::ProcessLink keeper;
    UniqueFd holder{};  // none: nothing is kept
    UniqueFd estate{};
    std::string crash{};  // how the engine before this one ended; empty: it did not, or is alive
    bool crash_from_outside = false;  // no VM can have been the cause of it
  };
  Daemon(settings::Config config, std::string config_file, settings::EngineAccount account,
         Lines lines);

  // Returns when the daemon was told to stop, or could not start.
  ExitStatus run();

 private:
  static std::string with_remedy(const model::ApiError& error);
  Status start();
  // ---- daemon_take_over.cc ----
  Status take_over(UniqueFd estate);
  void tell_taken_over(const std::string& before, const Gap& gap);
  void tell_recovered();
  void hand_over();
  void end_upgrade(const std::string& outcome);
  // ----
  Status prepare();
  host::HostConfig host_config();
  Status begin(UniqueFd api_listener);
  Status start_control();
  void make_cluster();
  Status make_fabric();
  void on_view(const std::shared_ptr<const inventory::View>& view);
  // `listener`: the socket of the API, from another engine; none: it is made.
  Status open_doors(UniqueFd listener);
  void on_inventory(const inventory::MemberState& state);
  void on_cluster_files(const std::string& damage);
  void serve();
  void serve_some();
  Instant look_for_hca(Instant now);
  void tell_memory();
  void tell_status();
  void stop();
  void on_signal();
  void on_note();
  void take_note(privsep::ProcessLink::NoteWithSocket received);
  void on_roce_port(const std::string& text, UniqueFd tap);
  void on_uplink_tap(const std::string& text, UniqueFd tap);
  void on_switch_news(const std::string& text);
  void tell_turns(const std::string& text);
  void on_keeper(const std::string& text);
  std::string summary() const;

  settings::Config config_;
  std::string config_file_;
  settings::EngineAccount account_;
  api::EventLog events_;
  std::optional<bool> inventory_told_;  // whether etcd is reachable; cluster thread only
  privsep::ProcessLink keeper_;
  privsep::SwitchLine switches_;
  privsep::MachineLine machine_;
  std::optional<host::KeptEstate> kept_;  // none: nothing is kept of this engine
  UniqueFd estate_;                       // of an engine that is to replace another
  std::string crash_;                     // how that one ended; empty: it is alive
  bool crash_from_outside_;
  struct Demand {
    std::string heir;  // HeirFacts
    UniqueFd line;
  };
  bool only_check_ = false;        // what the last upgrade was asked for
  std::optional<Demand> demand_;   // to hand over to another engine
  std::string told_;               // the status that the keeper was told last
  std::uint64_t memory_uses_ = 0;  // uses of the memory reserve that were reported
  LimitedLog memory_log_;
  bool stopping_ = false;
  Instant next_hca_look_{};
  UniqueFd signals_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Mailbox> mailbox_;
  privsep::Dialer dialer_;
  std::unique_ptr<cluster::ClusterService> cluster_;
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<TrunkFabric> trunks_;
  std::unique_ptr<ClusterFabric> fabric_;
  std::unique_ptr<ClusterDoor> door_;
  metrics::RequestCounts requests_;
  std::optional<metrics::MetricsCarrier> carrier_;
  std::optional<metrics::MetricsHandler> metrics_;
  std::optional<api::ApiHandler> handler_;
  std::optional<metrics::ObservedApi> observed_;
  std::unique_ptr<http::ApiServer> api_;
  std::optional<metrics::MetricsPort> metrics_port_;
};

}  // namespace paravane::daemon
