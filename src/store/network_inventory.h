// NetworkInventory: where the switches and port groups are kept: the store of a host
// that is alone, or what several hosts share. It keeps values and knows no rules but
// that a port group has its switch.
//
// Owner thread only.

#pragma once

#include <string>

#include "model/distributed_switch.h"

namespace paravane::store {

class NetworkInventory {
 public:
  virtual ~NetworkInventory() = default;

  // Errors: kStore.
  virtual model::ApiResult<model::Network> read_network() = 0;

  // Each change is kept for good when it returns, or nothing was changed. put: makes it,
  // or replaces the one of that name. Errors: kNotFound (erase: no such; put: the
  // group's switch), kInUse (the switch has port groups), kNoSpace, kStore.
  virtual model::ApiResult<void> put_switch(const model::DistributedSwitch& vds) = 0;
  virtual model::ApiResult<void> erase_switch(const std::string& name) = 0;
  virtual model::ApiResult<void> put_port_group(const model::PortGroup& group) = 0;
  virtual model::ApiResult<void> erase_port_group(const std::string& name) = 0;
};

}  // namespace paravane::store
