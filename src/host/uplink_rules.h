// UplinkRules: the rules for a switch's uplink on this host if it is the NIC of an RDMA device, as
// in vSphere; and the names that an administrator may use for NICs.
//
// Control thread only; blocks while the host's devices are read.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/machine_view.h"
#include "model/api_error.h"
#include "model/distributed_switch.h"

namespace paravane::host {

class UplinkRules {
 public:
  struct Parts {
    // VMs that run and are in port groups of a switch.
    std::function<std::vector<std::string>(const std::string& vds)> attached;
    // Whether NICs without RDMA are no different (/Net/PVRDMAUplinkEditNeedsPowerOff).
    std::function<bool()> strict;
    // The NIC that has this host's own address, which it would lose; empty: none is known.
    std::function<std::string()> management;
  };
  // `machine` outlives us.
  UplinkRules(MachineView& machine, Parts parts) : machine_(machine), parts_(std::move(parts)) {}

  // A NIC of this host, as Linux names it: "vmnic2" is its eth2. An unknown one is
  // passed on for later checks. Errors: kNotFound (no such vmnic), kInvalidRequest (a team,
  // the management's).
  model::ApiResult<std::string> resolve(const std::string& uplink) const;

  // Before the uplink of a switch on this host is another. The NIC of an RDMA device or, if
  // the operator requires it, any NIC is changed only while no VM uses it. Errors: kVmsAttached.
  model::ApiResult<void> check_edit(const std::string& vds, const std::string& before,
                                    const std::string& after) const;

  // "vmnic2 (eth2)".
  std::string shown(const std::string& linux_name) const;

 private:
  // Why VMs must be off while it is changed, up to "uplink"; empty: they need not.
  std::string why_quiet(const std::string& before, const std::string& after) const;

  MachineView& machine_;
  Parts parts_;
};

}  // namespace paravane::host
