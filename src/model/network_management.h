// NetworkManagement is the interface for the requests that an operator can make about distributed
// switches and port groups. It is a part of Management, with the same rules about threads
// (management.h).

#pragma once

#include <string>
#include <vector>

#include "model/distributed_switch.h"

namespace paravane::model {

class NetworkManagement {
 public:
  virtual ~NetworkManagement() = default;

  // REQUIRES: check_switch(). Errors: kExists, kInUse (an uplink), kLimitReached,
  // kNoSpace, kStore.
  virtual ApiResult<SwitchStatus> create_switch(const DistributedSwitch& vds) = 0;
  // REQUIRES: check_mtu(). Errors: kNotFound, kNoSpace, kStore.
  virtual ApiResult<SwitchStatus> set_switch_mtu(const std::string& vds, std::uint32_t mtu) = 0;
  // Errors: kNotFound, kInUse (it has port groups), kNoSpace, kStore.
  virtual ApiResult<void> delete_switch(const std::string& vds) = 0;

  // REQUIRES: check_switch_host(). Errors: kNotFound, kExists, kInUse (the NIC), kInvalidRequest (a
  // NIC that the host's configuration file does not allow), kLimitReached, kNoSpace, kStore.
  virtual ApiResult<SwitchStatus> add_switch_host(const std::string& vds,
                                                  const SwitchHost& host) = 0;
  // Errors: as above.
  virtual ApiResult<SwitchStatus> set_switch_uplink(const std::string& vds,
                                                    const SwitchHost& host) = 0;
  // Errors: kNotFound, kInUse (VMs of it are in its port groups), kNoSpace, kStore.
  virtual ApiResult<SwitchStatus> remove_switch_host(const std::string& vds,
                                                     const std::string& host) = 0;

  // In the order of names, with their last known state on this host. Changes nothing.
  virtual ApiResult<std::vector<SwitchStatus>> list_switches() = 0;
  // Errors: kNotFound.
  virtual ApiResult<SwitchStatus> find_switch(const std::string& name) = 0;
  // Compares the switches on this host with their configuration and repairs any difference.
  virtual ApiResult<SwitchRepair> repair_switches() = 0;

  // REQUIRES: check_port_group(). Errors: kExists, kNotFound (the switch),
  // kLimitReached, kNoSpace, kStore.
  virtual ApiResult<PortGroupStatus> create_port_group(const PortGroup& group) = 0;
  // Also while VMs run: the RoCE ports of its adapters are made or removed at once. Errors:
  // kNotFound, kNoSpace, kStore.
  virtual ApiResult<PortGroupStatus> change_port_group(const std::string& name,
                                                       const PortGroupChange& change) = 0;
  // Errors: kNotFound, kInUse (adapters are in it), kNoSpace, kStore.
  virtual ApiResult<void> delete_port_group(const std::string& name) = 0;
  // In the order of names.
  virtual ApiResult<std::vector<PortGroupStatus>> list_port_groups() = 0;
  virtual ApiResult<PortGroupStatus> find_port_group(const std::string& name) = 0;
};

}  // namespace paravane::model
