// Host: one daemon's objects, wired together: the store, the worker with its
// ports, and the answers to the operator. A change is made so that the store and
// the worker agree afterwards, whatever failed on the way.
//
// Control thread only. Its questions to the worker block for a bounded time.

#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "control/management.h"
#include "control/store.h"
#include "daemon/config.h"
#include "daemon/directory_lock.h"
#include "daemon/port_table.h"
#include "daemon/worker.h"

namespace paravane::daemon {

struct HostConfig {
  Config config;
  std::string config_file;               // for status; empty: none
  std::optional<gid_t> vm_socket_group;  // resolved from config.vfio_user.group
};

class Host final : public control::Management {
 public:
  // Takes the state directory for itself and brings back all VMs of the store. A
  // VM whose socket cannot be made stays, as failed. `on_stop` is called when an
  // operator has told the daemon to end.
  // Errors: kStore, kNoSpace (the state), kInternal.
  static control::ApiResult<std::unique_ptr<Host>> start(HostConfig config,
                                                         std::function<void()> on_stop);
  ~Host() override;

  // ---- Management ----
  control::ApiResult<control::VmStatus> add_vm(const control::VmSpec& spec) override;
  control::ApiResult<void> remove_vm(const std::string& name, bool force) override;
  control::ApiResult<control::VmStatus> set_vm(const std::string& name,
                                               const control::VmChange& change) override;
  control::ApiResult<control::VmStatus> add_adapter(
      const std::string& name, const control::AdapterRequest& request) override;
  control::ApiResult<control::VmStatus> remove_adapter(const std::string& name,
                                                       std::uint32_t number, bool force) override;
  control::ApiResult<control::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                      bool connected) override;
  control::ApiResult<std::vector<control::VmStatus>> list_vms() override;
  control::ApiResult<control::VmStatus> find_vm(const std::string& name) override;
  control::ApiResult<control::DaemonStatus> status() override;
  control::ApiResult<control::Stats> stats(const std::optional<std::string>& vm) override;
  control::ApiResult<void> stop(bool force) override;

  // Names of the VMs with a VMM at one of their adapters, in order. Empty also
  // when the worker does not answer.
  std::vector<std::string> attached_vms();
  std::size_t vm_count() const { return vms_.size(); }

 private:
  struct Vm {
    control::VmSpec spec;
    std::map<std::uint32_t, std::string> problems;  // by adapter; none: its port is there
  };
  using States = std::map<std::string, PortState>;  // by control::adapter_name()

  Host(HostConfig config, std::function<void()> on_stop);
  control::ApiResult<void> lock_directories();
  control::ApiResult<void> open_store();
  control::ApiResult<void> restore_vms();
  control::ApiResult<void> make_port(const control::VmSpec& spec,
                                     const control::AdapterSpec& adapter);
  // All of the VM's, or none.
  control::ApiResult<void> make_ports(const control::VmSpec& spec);
  // False: one is attached, and not forced; nothing happened.
  control::ApiResult<bool> remove_ports(std::vector<std::string> names, bool force);
  // After a change that could not be made.
  void bring_back(Vm& vm);
  static bool is_attached(const control::VmSpec& spec, const States& states);
  control::ApiResult<void> write(const control::VmSpec& spec);  // of a VM that is there
  control::ApiResult<void> check_devices(const control::VmSpec& spec) const;
  control::ApiResult<void> check_room(const control::VmSpec& spec) const;
  control::ApiResult<void> check_free(const control::VmSpec& spec,
                                      const control::AdapterSpec& adapter) const;
  control::MacAddress choose_mac(const control::VmSpec& spec, std::uint32_t number) const;
  bool mac_taken(const control::MacAddress& mac) const;
  control::ApiResult<States> states();
  control::VmStatus status_of(const Vm& vm, const States& states) const;

  HostConfig config_;
  std::function<void()> on_stop_;
  Instant started_;
  std::vector<DirectoryLock> locks_;
  std::unique_ptr<control::Store> store_;
  std::map<std::string, Vm> vms_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<PortTable> ports_;  // lives on the worker's thread
};

}  // namespace paravane::daemon
