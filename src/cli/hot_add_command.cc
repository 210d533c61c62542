// paravane vm hot-add-commands: for VMs that run elsewhere.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "vmm/hot_add.h"
#include "vmm/qemu_arguments.h"

namespace paravane::cli {
namespace {

struct HotAddOptions {
  std::string name;
  std::uint32_t adapter = 0;
  std::string bus;
  vmm::NicNetwork network;
  std::string domain;
};

ExitStatus run_hot_add(const HotAddOptions& options, const Context& context) {
  if (const Status good = model::check_name(options.name); !good) {
    return report_usage(fmt::format("vm {}: {}", options.name, good.error().message));
  }
  api::ApiClient client = context.client();
  const auto vm = client.find_vm(options.name);
  if (!vm) return report(vm.error(), client);
  const auto slots = vmm::slots_of(*vm, vmm::kFirstSlot);
  if (!slots) return report_usage(slots.error().message);
  const auto slot = std::ranges::find(*slots, options.adapter, &vmm::AdapterSlot::adapter);
  if (slot == slots->end()) {
    return report_failure(
        fmt::format("vm {} has no adapter {}", options.name, options.adapter),
        fmt::format("Add the adapter first: paravane vm adapter add {}", options.name));
  }
  vmm::NicNetwork network = options.network;
  if (network.netdev.empty() && network.tap.empty()) network.tap = slot->tap;
  if (network.netdev == "none") network = {};
  for (const vmm::QmpCommand& command : vmm::hot_add_commands(*slot, options.bus, network)) {
    const std::string line = print(command);
    if (options.domain.empty()) {
      fmt::print("{}\n", line);
    } else {
      fmt::print("virsh qemu-monitor-command {} {}\n", vmm::shell_quote(options.domain),
                 vmm::shell_quote(line));
    }
  }
  return ExitStatus::kOk;
}

}  // namespace

void add_vm_hot_add_command(CLI::App& vm, Run& run) {
  auto options = std::make_shared<HotAddOptions>();
  CLI::App* command = vm.add_subcommand(
      "hot-add-commands", "Print QMP commands that hot-add an adapter to a running VM");
  command->add_option("NAME", options->name, "Name of the VM")->required();
  command->add_option("--adapter", options->adapter, "Number of the adapter, as vm list shows it")
      ->type_name("NUMBER")
      ->required()
      ->check(CLI::Range(1u, model::kMaxAdapters).description(""));
  command
      ->add_option("--bus", options->bus,
                   "ID of an empty root port of the VM (pcie-root-port,mem-reserve=8M)")
      ->type_name("ID")
      ->required();
  CLI::Option* netdev = command->add_option(
      "--netdev", options->network.netdev,
      "Connect the NIC to this existing netdev, or with \"none\" to no network");
  netdev->type_name("ID|none");
  command
      ->add_option("--tap", options->network.tap,
                   "Connect the NIC to this tap device (default: pv-NAME.N)")
      ->type_name("IFNAME")
      ->excludes(netdev);
  command->add_option("--virsh", options->domain, "Print virsh commands for this libvirt domain")
      ->type_name("DOMAIN");
  command->footer(
      "Each line is a QMP command. Run the commands in this order. The hot-added device must stay\n"
      "until the VM is shut down: QEMU (11.1) aborts when such a device is unplugged.\n"
      "Examples:\n"
      "  paravane vm hot-add-commands db1 --adapter 2 --bus rp1\n"
      "  paravane vm hot-add-commands db1 --adapter 2 --bus rp1 --netdev net1 --virsh db1 | sh");
  command->callback([options, &run] {
    run = [options](const Context& context) { return run_hot_add(*options, context); };
  });
}

}  // namespace paravane::cli
