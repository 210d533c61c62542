#include "cli/vm_power.h"

#include <fmt/core.h>

#include <cstdio>

#include "model/vm.h"

namespace paravane::cli {

CLI::App& add_power(CLI::App& vm, Run& run, const char* name, const char* help, PowerAct act,
                    const std::shared_ptr<PowerOptions>& options) {
  CLI::App* command = vm.add_subcommand(name, help);
  command->add_option("NAME", options->name, "Name of the VM")->required();
  command->callback([options, act, &run] {
    run = [options, act](const Context& context) { return act(*options, context); };
  });
  return *command;
}

ExitStatus report_vm_failure(const std::string& vm, const std::string& problem,
                             const std::string& remedy) {
  return report_failure(fmt::format("vm {}: {}", vm, problem), remedy);
}

Result<vmm::Places> places_of(const std::string& vm, ExitStatus& status) {
  if (const Status good = model::check_name(vm); !good) {
    status = report_usage(fmt::format("vm {}: {}", vm, good.error().message));
    return std::unexpected(good.error());
  }
  Result<vmm::Places> places = vmm::Places::usual();
  if (!places) status = report_vm_failure(vm, places.error().message);
  return places;
}

}  // namespace paravane::cli
