// The functions that the commands `vm start`, `vm run`, `vm stop`, `vm reset` and `vm console`
// share. These commands control the VMs that `paravane` runs on this host.

#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "vmm/places.h"

namespace paravane::cli {

struct PowerOptions {
  std::string name;
  bool force = false;
  unsigned timeout_s = 120;
  unsigned wait_s = 0;
  double quiet_s = 1;
};

using PowerAct = ExitStatus (*)(const PowerOptions&, const Context&);

// Adds a command that takes the name of a VM and calls `act`.
CLI::App& add_power(CLI::App& vm, Run& run, const char* name, const char* help, PowerAct act,
                    const std::shared_ptr<PowerOptions>& options);

// Prints the problem to stderr and returns kFailed.
ExitStatus report_vm_failure(const std::string& vm, const std::string& problem,
                             const std::string& remedy = {});

// The places of the VM's files. If the name is invalid or the places are unknown, the function
// prints the reason and sets `status` to the exit status.
Result<vmm::Places> places_of(const std::string& vm, ExitStatus& status);

}  // namespace paravane::cli
