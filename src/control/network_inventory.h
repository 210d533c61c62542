// NetworkInventory: where the switches and port groups are kept: the store of a host
// that is alone, or what several hosts share. It keeps values and knows no rules but
// that a port group has its switch.
//
// Owner thread only.

#pragma once

#include <string>

#include "control/distributed_switch.h"

namespace paravane::control {

class NetworkInventory {
 public:
  virtual ~NetworkInventory() = default;

  // Errors: kStore.
  virtual ApiResult<Network> read_network() = 0;

  // Each change is kept for good when it returns, or nothing was changed. put: makes it,
  // or replaces the one of that name. Errors: kNotFound (erase: no such; put: the
  // group's switch), kInUse (the switch has port groups), kNoSpace, kStore.
  virtual ApiResult<void> put_switch(const DistributedSwitch& vds) = 0;
  virtual ApiResult<void> erase_switch(const std::string& name) = 0;
  virtual ApiResult<void> put_port_group(const PortGroup& group) = 0;
  virtual ApiResult<void> erase_port_group(const std::string& name) = 0;
};

}  // namespace paravane::control
