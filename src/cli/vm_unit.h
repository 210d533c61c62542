// Runs VMs as systemd services. Each VM is an instance of the template unit paravane-vm@.service.
// On a host without systemd, or without this unit, VMs run as ordinary processes instead.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/context.h"

namespace paravane::cli {

// Whether VMs run as services. For this, the user must be root, systemd must run this host and have
// the unit, and the daemon's socket and the directory of the VMs must be where the unit expects
// them.
bool has_vm_unit(const Context& context);

std::string vm_unit(const std::string& vm);

// Adds the variables in the unit's environment file (/etc/default/paravane-vm) to the environment
// of this program.
void take_vm_unit_environment();
// The variables in the text of an environment file. Each line is KEY=VALUE, in which the value may
// be quoted; lines that begin with # are comments.
std::vector<std::pair<std::string, std::string>> environment_words(const std::string& text);

// A remedy that tells the user where to find the output of the VM's QEMU.
std::string vm_unit_remedy(const std::string& vm);

// Waits for systemctl. Errors: kIo.
Status start_vm_unit(const std::string& vm);
Status stop_vm_unit(const std::string& vm);

// Whether the unit of the VM is starting or running. Waits for systemctl.
bool vm_unit_is_active(const std::string& vm);

}  // namespace paravane::cli
