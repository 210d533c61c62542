// Management is the interface for everything that an operator can request from one daemon. The
// API's request handler calls it. The daemon implements it, and tests use a fake.
//
// Calls may come from any of the API's threads. The implementation runs each call on the thread
// that it chooses, and returns kBusy if the call takes too long.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/capture_management.h"
#include "model/impairment_management.h"
#include "model/infiniband_management.h"
#include "model/machine_management.h"
#include "model/network_management.h"
#include "model/stats.h"
#include "model/storage_management.h"
#include "model/vm.h"
#include "model/vm_change.h"
#include "model/vmkernel.h"

namespace paravane::model {

class Management : public NetworkManagement,
                   public ImpairmentManagement,
                   public MachineManagement,
                   public CaptureManagement,
                   public VmkernelManagement,
                   public InfinibandManagement,
                   public StorageManagement {
 public:
  // REQUIRES: check_spec(spec). A MAC that is not given is chosen.
  // Errors: kExists, kMacInUse, kLimitReached, kNoSpace, kStore, kSocket.
  virtual ApiResult<VmStatus> add_vm(const VmSpec& spec) = 0;

  // Errors: kNotFound; kVmsAttached without `force`; kNoSpace, kStore.
  virtual ApiResult<void> remove_vm(const std::string& name, bool force) = 0;

  // Makes the whole change or none of it. The VM's sockets are created again. Errors: kNotFound (VM
  // or adapter), kVmsAttached, kInvalidRequest, kNoSpace, kStore, kSocket.
  virtual ApiResult<VmStatus> set_vm(const std::string& name, const VmChange& change) = 0;

  // Allowed even while a VMM is attached to other adapters of the VM; the VMM finds the new one at
  // its next start. Errors: kNotFound, kLimitReached, kExists (the socket's name), kMacInUse,
  // kInvalidRequest, kNoSpace, kStore, kSocket.
  virtual ApiResult<VmStatus> add_adapter(const std::string& name,
                                          const AdapterRequest& request) = 0;
  // The first adapter can be removed only with its VM. Errors: kNotFound, kInvalidRequest;
  // kVmsAttached without `force`; kNoSpace, kStore.
  virtual ApiResult<VmStatus> remove_adapter(const std::string& name, std::uint32_t number,
                                             bool force) = 0;

  // Connects an adapter to its switch or disconnects it, even while the VM is running. The guest
  // sees the port's link change. Errors: kNotFound; kNoSpace, kStore.
  virtual ApiResult<VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                            bool connected) = 0;

  // In the order of names.
  virtual ApiResult<std::vector<VmStatus>> list_vms() = 0;
  virtual ApiResult<VmStatus> find_vm(const std::string& name) = 0;

  virtual ApiResult<DaemonStatus> status() = 0;
  // Returns the counters of one VM, or of all. Errors: kNotFound.
  virtual ApiResult<Stats> stats(const std::optional<std::string>& vm) = 0;

  // The daemon stops soon after its response. Errors: kVmsAttached without `force`.
  virtual ApiResult<void> stop(bool force) = 0;

  // Begins to replace the engine by the program that is on disk now, while VMs run. With
  // `only_check`, nothing is replaced. status() shows how it went. Errors: kBusy (one is under
  // way).
  virtual ApiResult<void> upgrade(bool only_check) = 0;
};

}  // namespace paravane::model
