// MachineManagement: the requests that an operator can make about the host's hardware. A part of
// Management, with its rules about threads. The values may be a second old.

#pragma once

#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/machine.h"

namespace paravane::model {

class MachineManagement {
 public:
  virtual ~MachineManagement() = default;

  // In the order of their numbers. Errors: kInternal (it cannot be seen), kBusy.
  virtual ApiResult<std::vector<PhysicalNic>> list_nics() = 0;
  virtual ApiResult<std::vector<RdmaDevice>> list_rdma_devices() = 0;
  // REQUIRES: check_rdma_name(). Errors: kNotFound, kInternal, kBusy.
  virtual ApiResult<RdmaStats> rdma_device_stats(const std::string& name) = 0;
};

}  // namespace paravane::model
