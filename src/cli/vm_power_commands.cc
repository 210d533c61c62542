// paravane vm stop, reset, console.

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "cli/vm_power.h"
#include "cli/vm_table.h"
#include "cli/vm_unit.h"
#include "vmm/console.h"
#include "vmm/end.h"
#include "vmm/local_socket.h"
#include "vmm/machine_arguments.h"
#include "vmm/places.h"
#include "vmm/qmp_client.h"

namespace paravane::cli {
namespace {

using namespace std::chrono_literals;
using vmm::Runner;

ExitStatus report_unknown(const std::string& vm) {
  return report_vm_failure(vm, "you are not allowed to see whether the VM is running",
                           "Run the command as root, or as the user who started the VM.");
}

// Of a VM that we do not run: whether there is one, and who runs it.
ExitStatus report_not_running(const std::string& vm, const Context& context, ExitStatus if_off) {
  api::ApiClient client = context.client();
  const auto status = client.find_vm(vm);
  if (!status && !client.unreachable()) return report(status.error(), client);
  if (status && is_attached(*status)) {
    return report_vm_failure(
        vm,
        fmt::format("the VM is running (process {}), but was not started by Paravane",
                    vmm_of(*status)),
        "Use the tool that started it, such as virsh.");
  }
  if (if_off == ExitStatus::kOk) {
    fmt::print(stderr, "paravane: vm {} is off\n", vm);
    return if_off;
  }
  return report_vm_failure(vm, "the VM is off",
                           fmt::format("Start the VM with: paravane vm start {}", vm));
}

ExitStatus run_stop_vm(const PowerOptions& options, const Context& context) {
  const std::string& name = options.name;
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(name, status);
  if (!places) return status;
  const Runner now = places->runner(name);
  if (now.state == Runner::State::kUnknown) return report_unknown(name);
  if (now.state == Runner::State::kOff && has_vm_unit(context) && vm_unit_is_active(name)) {
    // Its QEMU is yet to come: it has just been started, or waits for a tap.
    const Status ended = stop_vm_unit(name);
    return ended ? ExitStatus::kOk : report_vm_failure(name, ended.error().message);
  }
  if (now.state == Runner::State::kOff) return report_not_running(name, context, ExitStatus::kOk);
  if (options.force) {
    const Status ended = vmm::cut_power(*places, name);
    return ended ? ExitStatus::kOk : report_vm_failure(name, ended.error().message);
  }
  const auto waiting = [&](std::chrono::seconds waited) {
    fmt::print(stderr, "paravane: vm {}: waiting for the guest to shut down ({} of {} s)\n", name,
               waited.count(), options.timeout_s);
  };
  const Status ended =
      vmm::power_down(*places, name, std::chrono::seconds(options.timeout_s), waiting);
  if (ended) return ExitStatus::kOk;
  return report_vm_failure(
      name, ended.error().message,
      fmt::format("Power off the VM at once with: paravane vm stop {} --force", name));
}

ExitStatus run_reset(const PowerOptions& options, const Context& context) {
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(options.name, status);
  if (!places) return status;
  const Runner now = places->runner(options.name);
  if (now.state == Runner::State::kUnknown) return report_unknown(options.name);
  if (now.state == Runner::State::kOff) {
    return report_not_running(options.name, context, ExitStatus::kFailed);
  }
  api::ApiClient client = context.client();
  const auto vm = client.find_vm(options.name);
  if (!vm) return report(vm.error(), client);
  if (!is_attached(*vm)) {  // QEMU would tell a device that is gone, and abort
    return report_vm_failure(
        options.name,
        "the VM has lost its RDMA device, because the daemon was stopped; a reset would make QEMU "
        "abort",
        fmt::format("paravane vm stop {0} && paravane vm start {0}", options.name));
  }
  auto qemu = vmm::QmpClient::connect(places->directory(options.name));
  if (!qemu) return report_vm_failure(options.name, qemu.error().message);
  const auto done = qemu->execute("system_reset");
  return done ? ExitStatus::kOk : report_vm_failure(options.name, done.error().message);
}

ExitStatus run_console(const PowerOptions& options, const Context& context) {
  const std::string& name = options.name;
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(name, status);
  if (!places) return status;
  const Runner now = places->runner(name);
  if (now.state == Runner::State::kUnknown) return report_unknown(name);
  if (now.state == Runner::State::kOff) {
    return report_not_running(name, context, ExitStatus::kFailed);
  }
  const auto line = vmm::connect_to(places->directory(name), vmm::kConsoleSocket);
  if (!line) return report_vm_failure(name, line.error().message);
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal) fmt::print(stderr, "paravane: console of vm {}; press Ctrl-] to exit\n", name);
  const auto quiet = std::chrono::milliseconds(static_cast<int>(options.quiet_s * 1000));
  const auto ended = vmm::carry_console(line->get(), STDIN_FILENO, STDOUT_FILENO, quiet);
  if (!ended) return report_vm_failure(name, ended.error().message);
  if (terminal) fmt::print(stderr, "\nparavane: left the console of vm {}\n", name);
  if (*ended != vmm::ConsoleEnd::kVmEnded) return ExitStatus::kOk;
  return report_vm_failure(name, "the console was closed, because QEMU has exited");
}

void add_stop(CLI::App& vm, Run& run) {
  auto options = std::make_shared<PowerOptions>();
  CLI::App& stop = add_power(vm, run, "stop", "Shut down a VM", run_stop_vm, options);
  CLI::Option* timeout =
      stop.add_option("--timeout", options->timeout_s, "Seconds to wait for the guest")
          ->type_name("SECONDS")
          ->check(CLI::Range(1u, 86400u).description(""))
          ->capture_default_str();
  stop.add_flag("--force", options->force, "Power off at once; the guest loses unwritten data")
      ->excludes(timeout);
  stop.footer(
      "Examples:\n"
      "  paravane vm stop db1\n"
      "  paravane vm stop db1 --timeout 300");
}

void add_console(CLI::App& vm, Run& run) {
  auto options = std::make_shared<PowerOptions>();
  CLI::App& console = add_power(
      vm, run, "console", "Connect to a VM's serial console; Ctrl-] exits", run_console, options);
  console
      .add_option("--quiet", options->quiet_s,
                  "With piped input, exit after this many seconds without output")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 3600.0).description(""))
      ->capture_default_str();
  console.footer(
      "Examples:\n"
      "  paravane vm console db1\n"
      "  echo uptime | paravane vm console db1 --quiet 2");
}

}  // namespace

void add_vm_power_commands(CLI::App& vm, Run& run) {
  add_stop(vm, run);
  add_power(vm, run, "reset", "Reset a VM", run_reset, std::make_shared<PowerOptions>())
      .footer("Examples:\n  paravane vm reset db1");
  add_console(vm, run);
}

}  // namespace paravane::cli
