// InfinibandManagement is the interface for an operator's requests about the host's virtual
// InfiniBand adapters. It is a part of Management, with the same rules about threads
// (management.h).

#pragma once

#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/ib_module_status.h"
#include "model/infiniband.h"

namespace paravane::model {

class InfinibandManagement {
 public:
  virtual ~InfinibandManagement() = default;

  // In the order of names. Errors: kInternal, kBusy.
  virtual ApiResult<std::vector<IbAdapterStatus>> list_ib_adapters() = 0;
  // REQUIRES: check_ib_adapter(). The first one starts the host's part of the subnet. Errors:
  // kExists (the name; the bus, with the adapter that has it), kLimitReached, kNoSpace, kStore,
  // kInternal.
  virtual ApiResult<IbAdapterStatus> add_ib_adapter(const IbAdapter& adapter) = 0;
  // Errors: kNotFound, kNoSpace, kStore, kInternal.
  virtual ApiResult<void> remove_ib_adapter(const std::string& name) = 0;
  // The IPoIB uplinks that the adapters make, in the order of buses and ports. Errors: kBusy.
  virtual ApiResult<std::vector<IbUplink>> list_ib_uplinks() = 0;
  virtual ApiResult<IbFabric> ib_fabric() = 0;
  // The hosts whose subnet managers are heard on this host: itself first, then the named ones.
  virtual ApiResult<std::vector<IbManager>> list_ib_managers() = 0;
  // Names a host of the cluster; it need not be there yet. REQUIRES: check_host_name(). Errors:
  // kLimitReached, kNoSpace, kStore.
  virtual ApiResult<void> add_ib_manager(const std::string& host) = 0;
  // Errors: kNotFound, kInvalidRequest (it is this host), kNoSpace, kStore.
  virtual ApiResult<void> remove_ib_manager(const std::string& host) = 0;
  // The driver modules of this host, in the order in which they load. Errors: kBusy.
  virtual ApiResult<std::vector<IbModuleStatus>> list_ib_modules() = 0;
  // Sets a module, from the next restart of the adapters on. All of the change is refused if a part
  // is wrong. Errors: kNotFound, kInvalidRequest (with the word that is wrong, also: the module
  // cannot be disabled), kNoSpace, kStore, kBusy.
  virtual ApiResult<IbModuleStatus> change_ib_module(const std::string& name,
                                                     const IbModuleChange& change) = 0;
  // Makes all adapters anew, as a reboot of the host would: their links go down and up, and module
  // parameters take effect. Errors: kInternal, kBusy.
  virtual ApiResult<void> restart_infiniband() = 0;
};

}  // namespace paravane::model
