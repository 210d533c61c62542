// What the commands that start, stop and use VMs of this host share: vm start, run, stop,
// reset, console.

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

// A command of one VM.
CLI::App& add_power(CLI::App& vm, Run& run, const char* name, const char* help, PowerAct act,
                    const std::shared_ptr<PowerOptions>& options);

// On standard error; kFailed.
ExitStatus report_vm_failure(const std::string& vm, const std::string& problem,
                             const std::string& remedy = {});

// Where the VM's files are, if the name is one; else it has said why not, and `status` is
// how to end.
Result<vmm::Places> places_of(const std::string& vm, ExitStatus& status);

}  // namespace paravane::cli
