// PortTable: the adapters of one worker's VMs, by control::adapter_name(), and what
// they share: the local path and the directory of who has which GID.
//
// Worker thread only: made, used and destroyed there.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_signal.h"
#include "control/stats.h"
#include "control/vm.h"
#include "daemon/transport_tenant.h"
#include "daemon/vm_port.h"
#include "daemon/worker.h"
#include "fabric/directory.h"
#include "transport/local/local_transport.h"

namespace paravane::daemon {

// How one adapter is, at the moment.
struct PortState {
  control::VmState state = control::VmState::kDetached;
  int pid = 0;
};

class PortTable {
 public:
  explicit PortTable(Worker& worker);
  ~PortTable();
  PortTable(const PortTable&) = delete;
  PortTable& operator=(const PortTable&) = delete;

  // Errors: as VmPort::create(); kBadState (the name is there); kResourceExhausted.
  Status add(const VmPortConfig& config);

  // False: a VMM is attached to one of them and `force` is not set; nothing
  // happened. A name that is not there is no error.
  bool remove(const std::vector<std::string>& names, bool force);

  // A name that is not there is no error.
  void set_connected(const std::string& name, bool connected);

  std::map<std::string, PortState> states() const;
  // nullopt: no such adapter. The VM's name is that of the adapter.
  std::optional<control::VmStats> stats(const std::string& name) const;
  std::vector<control::CounterGroup> shared_stats() const;

 private:
  std::optional<verbs::AdapterId> pick_id();
  void remove_one(VmPort& port);

  Worker& worker_;
  transport_local::LocalTransport local_;
  fabric::Directory directory_;
  EventSignal event_signal_;
  TransportTenant local_tenant_;
  std::map<std::string, std::unique_ptr<VmPort>> ports_;
  std::vector<bool> ids_used_;
  std::size_t next_id_ = 0;
};

}  // namespace paravane::daemon
