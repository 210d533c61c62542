// NetworkInventory is the interface for storing switches and port groups. Store implements it with
// a file. NetworkDraft (host/) also implements it, but only records a change. Implementations check
// only that the switch of a port group exists. Callers check all other rules.
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

  // Returns all switches and port groups, except those with a damaged record and the port groups of
  // a damaged switch. Errors: kStore.
  virtual model::ApiResult<model::Network> read_network() = 0;

  // All damaged records. The list may include other kinds of objects that the inventory stores.
  virtual std::vector<model::LeftOut> left_out() const { return {}; }
  // nullopt: it is not left out.
  virtual std::optional<model::LeftOut> find_left_out(std::string_view /*kind*/,
                                                      const std::string& /*name*/) const {
    return std::nullopt;
  }
  // Errors: kInUse (a switch with port groups), kNoSpace, kStore.
  virtual model::ApiResult<void> erase_left_out(const model::LeftOut& /*one*/) { return {}; }

  // Each change is stored permanently when the call returns, or nothing was changed. put_*()
  // creates the object or replaces the one of that name. Errors: kNotFound (erase: there is no such
  // object; put: the switch of the port group), kInUse (the switch has port groups), kNoSpace,
  // kStore.
  virtual model::ApiResult<void> put_switch(const model::DistributedSwitch& vds) = 0;
  virtual model::ApiResult<void> erase_switch(const std::string& name) = 0;
  virtual model::ApiResult<void> put_port_group(const model::PortGroup& group) = 0;
  virtual model::ApiResult<void> erase_port_group(const std::string& name) = 0;
};

}  // namespace paravane::store
