// The service manager that runs VMs, where there is one: each is an instance of the
// template unit paravane-vm@.service.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/context.h"

namespace paravane::cli {

// systemd runs this host, has the unit, and the daemon and the VMs' directory are where the
// unit looks for them. Else VMs are processes of their own.
bool has_vm_unit(const Context& context);

std::string vm_unit(const std::string& vm);

// From here on this program has what the unit's environment file (/etc/default/paravane-vm) says.
void take_vm_unit_environment();
// The words of such a file: KEY=VALUE a line, the value perhaps in quotes, # before comments.
std::vector<std::pair<std::string, std::string>> environment_words(const std::string& text);

// Where what its QEMU said is: a line for people.
std::string vm_unit_remedy(const std::string& vm);

// Waits for systemctl. Errors: kIo; it has said why.
Status start_vm_unit(const std::string& vm);
Status stop_vm_unit(const std::string& vm);

// It is starting or runs. Waits for systemctl.
bool vm_unit_is_active(const std::string& vm);

}  // namespace paravane::cli
