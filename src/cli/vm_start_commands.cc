// paravane vm start, run.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/lun_sockets.h"
#include "cli/vm_check.h"
#include "cli/vm_power.h"
#include "cli/vm_table.h"
#include "cli/vm_unit.h"
#include "model/lun_disk.h"
#include "text/text_cell.h"
#include "vmm/launch.h"
#include "vmm/places.h"
#include "vmm/qmp_client.h"

namespace paravane::cli {
namespace {

using namespace std::chrono_literals;
using vmm::Places;
using vmm::Runner;

constexpr auto kTapPatience = 10s;  // for the daemon to make what the VM needs
constexpr auto kStartPatience = 30s;
constexpr auto kDetachPatience = 2s;  // for the daemon to see that a QEMU has ended

// A LUN of the VM that has no working path yet, as after a boot. Empty: all have one.
std::string lun_not_there_yet(const model::VmSpec& vm, api::ApiClient& client) {
  if (!model::has_luns(vm)) return {};
  const auto devices = client.list_scsi_devices();
  if (!devices) return {};  // the check before the start says why not
  for (const model::Disk& disk : vm.machine.disks) {
    const auto found = std::ranges::find(*devices, disk.lun, &model::ScsiDevice::name);
    const bool works = found != devices->end() && !found->working_path.empty();
    if (disk.is_lun() && !works) return "LUN " + disk.lun;
  }
  return {};
}

// Waits for what the VM needs of the daemon, and says once what that is. Returns what is
// not there then; empty: nothing.
std::string await_needs(const std::string& vm, const Context& context,
                        std::chrono::seconds patience) {
  api::ApiClient client = context.client();
  const auto end = std::chrono::steady_clock::now() + patience;
  for (std::string told;;) {
    const auto found = client.find_vm(vm);
    std::string wanted = found ? vmm::not_there_yet(*found) : "";
    if (found && wanted.empty()) wanted = lun_not_there_yet(found->spec, client);
    if (!found && client.unreachable()) wanted = "paravaned";
    if (wanted.empty() || std::chrono::steady_clock::now() >= end) return wanted;
    if (wanted != told) {
      fmt::print(stderr, "paravane: vm {0}: waiting up to {2} s for {1}\n", vm,
                 text::printable(wanted), patience.count());
    }
    told = std::move(wanted);
    std::this_thread::sleep_for(100ms);
  }
}

// The VM as it is to be started.
Result<model::VmStatus> startable(const std::string& vm, const Context& context, Starter starter,
                                  ExitStatus& status) {
  api::ApiClient client = context.client();
  auto found = client.find_vm(vm);
  const auto end = std::chrono::steady_clock::now() + kDetachPatience;
  while (found && is_attached(*found) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
    found = client.find_vm(vm);
  }
  if (!found) {
    status = report(found.error(), client);
    return fail(Errc::kNotFound, found.error().message);
  }
  if (is_attached(*found)) {
    status = report_vm_failure(
        vm, fmt::format("the VM is already running (process {})", vmm_of(*found)));
    return fail(Errc::kBadState, "");
  }
  if (found->spec.name != vm) {  // the engine may have been broken into, and we may be root
    status = report_vm_failure(vm, "the daemon's response is about another VM");
    return fail(Errc::kInvalidArgument, "");
  }
  status = check_before_start(*found, context, starter);
  if (status != ExitStatus::kOk) return fail(Errc::kBadState, "");
  return std::move(*found);
}

// Until QEMU answers, which it does when its devices are there. By its unit: who starts it is
// on the way, and may not hold its lock yet.
ExitStatus await_start(const std::string& vm, const Places& places, bool by_unit) {
  const auto end = std::chrono::steady_clock::now() + kStartPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (vmm::QmpClient::connect(places.directory(vm), 2s)) return ExitStatus::kOk;
    const bool off = places.runner(vm).state == Runner::State::kOff;
    if (off && !(by_unit && vm_unit_is_active(vm))) {
      return report_vm_failure(vm, "QEMU exited immediately after its start",
                               by_unit ? vm_unit_remedy(vm) : places.log_tail(vm));
    }
    std::this_thread::sleep_for(50ms);
  }
  return report_vm_failure(vm,
                           fmt::format("QEMU did not respond within {} s", kStartPatience.count()),
                           fmt::format("Power off the VM with: paravane vm stop {} --force", vm));
}

ExitStatus run_start(const PowerOptions& options, const Context& context) {
  const std::string& name = options.name;
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(name, status);
  if (!places) return status;
  if (const Runner now = places->runner(name); now.state == Runner::State::kRunning) {
    return report_vm_failure(name, fmt::format("already running (pid {})", now.pid));
  }
  const std::string missing = await_needs(name, context, kTapPatience);
  const bool by_unit = has_vm_unit(context);
  const auto vm = startable(name, context, by_unit ? Starter::kUnit : Starter::kUs, status);
  if (!vm) return status;
  if (!missing.empty()) {
    return report_vm_failure(name, missing + " does not exist",
                             "Find the cause with: paravane vm list; paravane vds list");
  }
  if (by_unit) {
    const Status started = start_vm_unit(name);
    if (!started) return report_vm_failure(name, started.error().message);
  } else if (const auto started = vmm::launch_detached(*vm, *places, lun_sockets_of(*vm, context));
             !started) {
    return report_vm_failure(name, started.error().message);
  }
  if (status = await_start(name, *places, by_unit); status != ExitStatus::kOk) return status;
  api::ApiClient client = context.client();
  const auto now = client.find_vm(name);
  if (!now) return report(now.error(), client);
  print_vm(*now, context);
  return ExitStatus::kOk;
}

ExitStatus run_run(const PowerOptions& options, const Context& context) {
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(options.name, status);
  if (!places) return status;
  await_needs(options.name, context, std::chrono::seconds(options.wait_s));
  const auto vm = startable(options.name, context, Starter::kUs, status);
  if (!vm) return status;
  const Error error =
      vmm::launch(*vm, *places, vmm::Output::kInherited, lun_sockets_of(*vm, context));
  return report_vm_failure(options.name, error.message);
}

void add_run(CLI::App& vm, Run& run) {
  auto options = std::make_shared<PowerOptions>();
  CLI::App& command = add_power(
      vm, run, "run", "Run a VM's QEMU in the foreground, for a service manager", run_run, options);
  command.add_option("--wait", options->wait_s, "Seconds to wait for the VM's sockets and taps")
      ->type_name("SECONDS")
      ->check(CLI::Range(0u, 86400u).description(""))
      ->capture_default_str();
  command.footer(
      "Examples:\n"
      "  paravane vm run db1\n"
      "  paravane vm run db1 --wait 600");
}

}  // namespace

void add_vm_start_commands(CLI::App& vm, Run& run) {
  add_power(vm, run, "start", "Start a VM", run_start, std::make_shared<PowerOptions>())
      .footer("Examples:\n  paravane vm start db1");
  add_run(vm, run);
}

}  // namespace paravane::cli
