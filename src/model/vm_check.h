// Checks the requirements of a VM with PVRDMA adapters before power-on, as far as the daemon can
// check them. They are adapted from Lenovo LP0759, table 2 (docs/vms.md, "Before power-on").
// vmm/start_check.h checks the requirements that concern QEMU.
//
// Pure functions; any thread.

#pragma once

#include <string>
#include <vector>

#include "model/check_row.h"
#include "model/cluster.h"
#include "model/distributed_switch.h"
#include "model/infiniband.h"
#include "model/machine.h"
#include "model/vm.h"
#include "model/vmkernel.h"

namespace paravane::model {

struct VmCheckFacts {
  VmStatus vm;
  std::string host;  // the name of this host
  std::vector<SwitchStatus> switches{};
  std::vector<PortGroup> port_groups{};
  Machine machine{};  // empty: the hardware is unknown
  std::vector<IbUplink> ib_uplinks{};
  VmkernelConfiguration configuration{};
  ClusterStatus cluster{};  // `member` false: there is none
};

// In the order of the requirements: the VM's own, those of its adapters, of their
// switches on this host, and of this host.
std::vector<CheckRow> check_vm(const VmCheckFacts& facts);

}  // namespace paravane::model
