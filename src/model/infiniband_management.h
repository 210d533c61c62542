// InfinibandManagement is the interface for an operator's requests about the host's virtual
// InfiniBand adapters. It is a part of Management, with the same rules about threads
// (management.h).

#pragma once

#include <string>
#include <vector>

#include "model/api_error.h"
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
  // Makes all adapters anew, as a reboot of the host would: their links go down and up, and module
  // parameters take effect. Errors: kInternal, kBusy.
  virtual ApiResult<void> restart_infiniband() = 0;
};

}  // namespace paravane::model
