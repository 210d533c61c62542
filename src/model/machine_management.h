// MachineManagement is the interface for the requests that an operator can make about the host's
// hardware. It is a part of Management, with the same rules about threads (management.h). The
// values in a response can be up to one second old.

#pragma once

#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/machine.h"
#include "model/nic_dcb.h"

namespace paravane::model {

class MachineManagement {
 public:
  virtual ~MachineManagement() = default;

  // In the order of their numbers. Errors: kInternal (the hardware cannot be read), kBusy.
  virtual ApiResult<std::vector<PhysicalNic>> list_nics() = 0;
  // `nic`: either of its names. Errors: kNotFound (no such NIC, or its driver has no DCB),
  // kInternal, kBusy.
  virtual ApiResult<NicDcb> nic_dcb(const std::string& nic) = 0;
  virtual ApiResult<std::vector<RdmaDevice>> list_rdma_devices() = 0;
  // REQUIRES: check_rdma_name(). Errors: kNotFound, kInternal, kBusy.
  virtual ApiResult<RdmaStats> rdma_device_stats(const std::string& name) = 0;
};

}  // namespace paravane::model
