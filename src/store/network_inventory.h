// NetworkInventory: the storage of switches and port groups: the store of a standalone host, or
// the inventory that several hosts share. It keeps values and enforces one rule only: the switch
// of a port group exists.
//
// Owner thread only.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/distributed_switch.h"
#include "model/left_out.h"

namespace paravane::store {

class NetworkInventory {
 public:
  virtual ~NetworkInventory() = default;

  // Without those whose record is damaged, and port groups whose switch is: these are left
  // out. Errors: kStore.
  virtual model::ApiResult<model::Network> read_network() = 0;

  // All that is kept and cannot be used; what else the inventory keeps may be among it.
  virtual std::vector<model::LeftOut> left_out() const { return {}; }
  // nullopt: it is not left out.
  virtual std::optional<model::LeftOut> find_left_out(std::string_view /*kind*/,
                                                      const std::string& /*name*/) const {
    return std::nullopt;
  }
  // Errors: kInUse (a switch with port groups), kNoSpace, kStore.
  virtual model::ApiResult<void> erase_left_out(const model::LeftOut& /*one*/) { return {}; }

  // Each change is kept for good when it returns, or nothing was changed. put: makes it,
  // or replaces the one of that name. Errors: kNotFound (erase: no such; put: the
  // group's switch), kInUse (the switch has port groups), kNoSpace, kStore.
  virtual model::ApiResult<void> put_switch(const model::DistributedSwitch& vds) = 0;
  virtual model::ApiResult<void> erase_switch(const std::string& name) = 0;
  virtual model::ApiResult<void> put_port_group(const model::PortGroup& group) = 0;
  virtual model::ApiResult<void> erase_port_group(const std::string& name) = 0;
};

}  // namespace paravane::store
