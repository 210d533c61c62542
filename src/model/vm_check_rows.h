// Declares the parts of check_vm() (vm_check.h), which checks a VM before power-on. Each part is in
// a file of its own and checks one kind of object.

#pragma once

#include <set>
#include <string>

#include "model/vm_check.h"

namespace paravane::model {

// vm_check_adapters.cc: port group, tap, socket, addresses, the guest's driver.
void check_adapters(const VmCheckFacts& facts, CheckRows& rows);
// vm_check_switches.cc: this host's membership, its uplink and RDMA device.
void check_switches(const VmCheckFacts& facts, CheckRows& rows);
// vm_check_flow_control.cc: of RDMA devices whose NIC is an uplink, pause frames and PFC.
void check_flow_control(const VmCheckFacts& facts, CheckRows& rows);
// vm_check_roce.cc: of adapters in port groups with native RoCE, their ports and path MTU.
void check_roce(const VmCheckFacts& facts, CheckRows& rows);
// vm_check_channel.cc: the VMkernel interface, the ruleset, the channels to other hosts.
void check_channel(const VmCheckFacts& facts, CheckRows& rows);

// vm_check_hca.cc: the memory that the RDMA adapter of channels to other hosts locks.
void check_hca_memory(const VmCheckFacts& facts, CheckRows& rows);

// nullptr: there is no object with this name.
const PortGroup* find_group(const VmCheckFacts& facts, const std::string& name);
const SwitchStatus* find_switch(const VmCheckFacts& facts, const std::string& name);
// The names of the existing switches that the VM's adapters are in.
std::set<std::string> switches_of(const VmCheckFacts& facts);
// Whether the VM reaches native RoCE endpoints through the switch.
bool reaches_native_endpoints(const VmCheckFacts& facts, const std::string& vds);
// The other hosts of the switches that this host is in, which the VM reaches over channels.
std::set<std::string> peers_of(const VmCheckFacts& facts);

// Adds to a command for switches that it must be run on the authority's host, if this host is
// another member of a cluster.
std::string at_authority(const VmCheckFacts& facts, const std::string& command);

inline constexpr const char* kOnlyThisHost =
    "not in a cluster: only VMs on this host are reachable";

}  // namespace paravane::model
