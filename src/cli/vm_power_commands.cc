// paravane vm start, run, stop, reset, console.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "cli/commands.h"
#include "cli/vm_table.h"
#include "cli/vm_unit.h"
#include "vmm/console.h"
#include "vmm/end.h"
#include "vmm/launch.h"
#include "vmm/local_socket.h"
#include "vmm/machine_arguments.h"
#include "vmm/places.h"
#include "vmm/qmp_client.h"

namespace paravane::cli {
namespace {

using namespace std::chrono_literals;
using vmm::Places;
using vmm::Runner;

constexpr auto kStartPatience = 30s;
constexpr auto kBeginPatience = 10s;  // for a unit that was started to take its lock
constexpr auto kDetachPatience = 2s;  // for the daemon to see that a QEMU has ended

struct PowerOptions {
  std::string name;
  bool force = false;
  unsigned timeout_s = 120;
  double quiet_s = 1;
};

ExitStatus report_failure(const std::string& vm, const std::string& problem,
                          const std::string& remedy = {}) {
  fmt::print(stderr, "paravane: vm {}: {}\n", vm, problem);
  if (!remedy.empty()) fmt::print(stderr, "  {}\n", remedy);
  return ExitStatus::kFailed;
}

// Where the VM's files are, if the name is one.
Result<Places> places_of(const std::string& vm, ExitStatus& status) {
  if (const Status good = control::check_name(vm); !good) {
    status = report_usage(fmt::format("vm {}: {}", vm, good.error().message));
    return std::unexpected(good.error());
  }
  Result<Places> places = Places::usual();
  if (!places) status = report_failure(vm, places.error().message);
  return places;
}

ExitStatus report_unknown(const std::string& vm) {
  return report_failure(vm, "you may not see whether it runs",
                        "Ask as root, or as the user who started it.");
}

// Of a VM that we do not run: whether there is one, and who runs it.
ExitStatus report_not_running(const std::string& vm, const Context& context, ExitStatus if_off) {
  control::ApiClient client = context.client();
  const auto status = client.find_vm(vm);
  if (!status && !client.unreachable()) return report(status.error(), client);
  if (status && is_attached(*status)) {
    return report_failure(
        vm, fmt::format("process {} runs it, which paravane did not start", vmm_of(*status)),
        "Do it where it was started: libvirt, or a script of yours.");
  }
  if (if_off == ExitStatus::kOk) {
    fmt::print(stderr, "paravane: vm {} is off\n", vm);
    return if_off;
  }
  return report_failure(vm, "it is off", fmt::format("Start it with: paravane vm start {}", vm));
}

// The VM as it is to be started.
Result<control::VmStatus> startable(const std::string& vm, const Context& context,
                                    ExitStatus& status) {
  control::ApiClient client = context.client();
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
    status = report_failure(vm, fmt::format("process {} runs it already", vmm_of(*found)));
    return fail(Errc::kBadState, "");
  }
  if (found->spec.name != vm) {  // the engine may have been broken into, and we may be root
    status = report_failure(vm, "the daemon answers for another VM");
    return fail(Errc::kInvalidArgument, "");
  }
  for (const control::AdapterStatus& adapter : found->adapters) {
    if (adapter.state != control::VmState::kFailed) continue;
    status = report_failure(vm, adapter.problem);
    return fail(Errc::kBadState, "");
  }
  return std::move(*found);
}

// Until QEMU answers, which it does when its devices are there.
// `begins`: who starts it is on the way, and may not hold its lock yet.
ExitStatus await_start(const std::string& vm, const Places& places, bool begins) {
  const auto end = std::chrono::steady_clock::now() + kStartPatience;
  const auto first_look_ends = std::chrono::steady_clock::now() + kBeginPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (vmm::QmpClient::connect(places.directory(vm), 2s)) return ExitStatus::kOk;
    const bool off = places.runner(vm).state == Runner::State::kOff;
    begins = begins && off && std::chrono::steady_clock::now() < first_look_ends;
    if (off && !begins) {
      return report_failure(vm, "its QEMU ended at once", places.log_tail(vm));
    }
    std::this_thread::sleep_for(50ms);
  }
  return report_failure(vm,
                        fmt::format("its QEMU does not answer after {} s", kStartPatience.count()),
                        fmt::format("End it with: paravane vm stop {} --force", vm));
}

ExitStatus run_start(const PowerOptions& options, const Context& context) {
  const std::string& name = options.name;
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(name, status);
  if (!places) return status;
  if (const Runner now = places->runner(name); now.state == Runner::State::kRunning) {
    return report_failure(name, fmt::format("it runs already, as process {}", now.pid));
  }
  const auto vm = startable(name, context, status);
  if (!vm) return status;
  const bool by_unit = has_vm_unit(context);
  if (by_unit) {
    const Status started = start_vm_unit(name);
    if (!started) return report_failure(name, started.error().message);
  } else if (const auto started = vmm::launch_detached(*vm, *places); !started) {
    return report_failure(name, started.error().message);
  }
  if (status = await_start(name, *places, by_unit); status != ExitStatus::kOk) return status;
  control::ApiClient client = context.client();
  const auto now = client.find_vm(name);
  if (!now) return report(now.error(), client);
  print_vms({*now}, context);
  return ExitStatus::kOk;
}

ExitStatus run_run(const PowerOptions& options, const Context& context) {
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(options.name, status);
  if (!places) return status;
  const auto vm = startable(options.name, context, status);
  if (!vm) return status;
  const Error error = vmm::launch(*vm, *places, vmm::Output::kInherited);
  return report_failure(options.name, error.message);
}

ExitStatus run_stop(const PowerOptions& options, const Context& context) {
  const std::string& name = options.name;
  ExitStatus status = ExitStatus::kOk;
  const auto places = places_of(name, status);
  if (!places) return status;
  const Runner now = places->runner(name);
  if (now.state == Runner::State::kUnknown) return report_unknown(name);
  if (now.state == Runner::State::kOff) return report_not_running(name, context, ExitStatus::kOk);
  if (options.force) {
    const Status ended = vmm::cut_power(*places, name);
    return ended ? ExitStatus::kOk : report_failure(name, ended.error().message);
  }
  const auto waiting = [&](std::chrono::seconds waited) {
    fmt::print(stderr, "paravane: vm {}: its guest is asked to power down ({} s of {})\n", name,
               waited.count(), options.timeout_s);
  };
  const Status ended =
      vmm::power_down(*places, name, std::chrono::seconds(options.timeout_s), waiting);
  if (ended) return ExitStatus::kOk;
  return report_failure(
      name, ended.error().message,
      fmt::format("Its power is cut at once by: paravane vm stop {} --force", name));
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
  auto qemu = vmm::QmpClient::connect(places->directory(options.name));
  if (!qemu) return report_failure(options.name, qemu.error().message);
  const auto done = qemu->execute("system_reset");
  return done ? ExitStatus::kOk : report_failure(options.name, done.error().message);
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
  if (!line) return report_failure(name, line.error().message);
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal) fmt::print(stderr, "paravane: console of vm {}; Ctrl-] leaves\n", name);
  const auto quiet = std::chrono::milliseconds(static_cast<int>(options.quiet_s * 1000));
  const auto ended = vmm::carry_console(line->get(), STDIN_FILENO, STDOUT_FILENO, quiet);
  if (!ended) return report_failure(name, ended.error().message);
  if (terminal) fmt::print(stderr, "\nparavane: left the console of vm {}\n", name);
  if (*ended != vmm::ConsoleEnd::kVmEnded) return ExitStatus::kOk;
  return report_failure(name, "its console ended: QEMU is gone");
}

using Act = ExitStatus (*)(const PowerOptions&, const Context&);

CLI::App& add_power(CLI::App& vm, Run& run, const char* name, const char* help, Act act,
                    const std::shared_ptr<PowerOptions>& options) {
  CLI::App* command = vm.add_subcommand(name, help);
  command->add_option("NAME", options->name, "Name of the VM")->required();
  command->callback([options, act, &run] {
    run = [options, act](const Context& context) { return act(*options, context); };
  });
  return *command;
}

void add_stop(CLI::App& vm, Run& run) {
  auto options = std::make_shared<PowerOptions>();
  CLI::App& stop = add_power(vm, run, "stop", "Have a VM's guest power down", run_stop, options);
  CLI::Option* timeout =
      stop.add_option("--timeout", options->timeout_s, "Seconds that the guest has for it")
          ->type_name("SECONDS")
          ->check(CLI::Range(1u, 86400u).description(""))
          ->capture_default_str();
  stop.add_flag("--force", options->force, "Cut its power: the guest loses what it has not written")
      ->excludes(timeout);
  stop.footer(
      "Examples:\n"
      "  paravane vm stop db1\n"
      "  paravane vm stop db1 --timeout 300");
}

void add_console(CLI::App& vm, Run& run) {
  auto options = std::make_shared<PowerOptions>();
  CLI::App& console =
      add_power(vm, run, "console", "A VM's serial console; Ctrl-] leaves", run_console, options);
  console
      .add_option("--quiet", options->quiet_s,
                  "At the end of input from a pipe, leave when the VM said nothing for so long")
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
  add_power(vm, run, "start", "Start a VM: QEMU, by systemd where it runs this host", run_start,
            std::make_shared<PowerOptions>())
      .footer("Examples:\n  paravane vm start db1");
  add_stop(vm, run);
  add_power(vm, run, "reset", "Press a VM's reset button", run_reset,
            std::make_shared<PowerOptions>())
      .footer("Examples:\n  paravane vm reset db1");
  add_console(vm, run);
  add_power(vm, run, "run", "Become the QEMU of a VM, as a service manager wants it", run_run,
            std::make_shared<PowerOptions>())
      .footer("Examples:\n  paravane vm run db1");
}

}  // namespace paravane::cli
