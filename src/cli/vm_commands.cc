// paravane vm add, remove, list.

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/limit_option.h"
#include "control/vm.h"

namespace paravane::cli {
namespace {

struct AddOptions {
  std::string name;
  std::string mac;
  std::uint32_t version = control::kMaxDeviceVersion;
  std::string doorbells = "mapped";
  std::vector<std::string> limits;
};

Result<control::VmSpec> to_spec(const AddOptions& options) {
  control::VmSpec spec;
  spec.name = options.name;
  spec.version = options.version;
  if (!options.mac.empty()) {
    spec.mac = control::parse_mac(options.mac);
    if (!spec.mac) {
      return fail(Errc::kInvalidArgument, fmt::format("--mac {}: an address looks like "
                                                      "02:50:56:12:34:56",
                                                      options.mac));
    }
  }
  spec.doorbells =
      control::parse_doorbells(options.doorbells).value_or(control::Doorbells::kMapped);
  for (const std::string& limit : options.limits) {
    if (Status set = set_limit(limit, spec.limits); !set) return std::unexpected(set.error());
  }
  if (Status good = control::check_spec(spec); !good) {
    return fail(Errc::kInvalidArgument, fmt::format("vm {}: {}", spec.name, good.error().message));
  }
  return spec;
}

// Of the VMM; a VM without one has none.
control::TextTable::Cell pid_cell(const control::VmStatus& vm) {
  if (vm.pid > 0) return static_cast<std::uint64_t>(vm.pid);
  return std::string("-");
}

void print_vms(const std::vector<control::VmStatus>& vms, const Context& context) {
  control::TextTable table(
      {"Name", "State", "MAC Address", "Version", "Doorbells", "PID", "Socket", "Problem"});
  for (const control::VmStatus& vm : vms) {
    table.add({vm.spec.name, std::string(to_string(vm.state)),
               vm.spec.mac ? control::format_mac(*vm.spec.mac) : std::string(),
               std::uint64_t{vm.spec.version}, std::string(to_string(vm.spec.doorbells)),
               pid_cell(vm), vm.socket, vm.problem});
  }
  fmt::print("{}", table.print(context.format));
}

ExitStatus run_add(const AddOptions& options, const Context& context) {
  const Result<control::VmSpec> spec = to_spec(options);
  if (!spec) return report_usage(spec.error().message);
  control::ApiClient client = context.client();
  const auto added = client.add_vm(*spec);
  if (!added) return report(added.error(), client);
  print_vms({*added}, context);
  return ExitStatus::kOk;
}

ExitStatus run_remove(const std::string& name, bool force, const Context& context) {
  if (const Status good = control::check_name(name); !good) {
    return report_usage(fmt::format("vm {}: {}", name, good.error().message));
  }
  control::ApiClient client = context.client();
  const auto removed = client.remove_vm(name, force);
  return removed ? ExitStatus::kOk : report(removed.error(), client);
}

ExitStatus run_list(const Context& context) {
  control::ApiClient client = context.client();
  const auto vms = client.list_vms();
  if (!vms) return report(vms.error(), client);
  print_vms(*vms, context);
  return ExitStatus::kOk;
}

void add_add(CLI::App& vm, Run& run) {
  CLI::App* add = vm.add_subcommand("add", "Make an RDMA adapter for a VM");
  auto options = std::make_shared<AddOptions>();
  add->add_option("NAME", options->name, "Name of the VM: a-z, 0-9, '_', '.', '-'")->required();
  add->add_option("--mac", options->mac,
                  "MAC address of the VM's vmxnet3 NIC (default: chosen by the name)")
      ->type_name("MAC");
  add->add_option("--version", options->version, "Device version, 17 to 20 (20)")
      ->type_name("NUMBER");
  add->add_option("--doorbells", options->doorbells,
                  "mapped: no VM exit on the data path; trapped: for VMMs that cannot map them")
      ->type_name("mapped|trapped")
      ->check(CLI::IsMember({"mapped", "trapped"}).description(""));
  add->add_option("--limit", options->limits, limit_help())
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  add->footer(
      "Examples:\n"
      "  paravane vm add db1\n"
      "  paravane vm add db1 --mac 02:50:56:00:00:01 --limit queue_pairs=1024");
  add->callback([options, &run] {
    run = [options](const Context& context) { return run_add(*options, context); };
  });
}

void add_remove(CLI::App& vm, Run& run) {
  CLI::App* remove = vm.add_subcommand("remove", "Take a VM's RDMA adapter away");
  auto name = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  remove->add_option("NAME", *name, "Name of the VM")->required();
  remove->add_flag("--force", *force,
                   "Also while the VM runs: it loses the device until it is restarted");
  remove->footer(
      "Examples:\n"
      "  paravane vm remove db1\n"
      "  paravane vm remove db1 --force");
  remove->callback([name, force, &run] {
    run = [name, force](const Context& context) { return run_remove(*name, *force, context); };
  });
}

}  // namespace

void add_vm_commands(CLI::App& parent, Run& run) {
  CLI::App* vm = parent.add_subcommand("vm", "RDMA adapters of VMs");
  vm->require_subcommand(1);
  vm->footer(
      "Examples:\n"
      "  paravane vm add db1\n"
      "  paravane vm list --formatter=csv");
  add_add(*vm, run);
  add_remove(*vm, run);
  CLI::App* list = vm->add_subcommand("list", "List the VMs with an RDMA adapter");
  list->footer(
      "Examples:\n"
      "  paravane vm list\n"
      "  paravane vm list --formatter=json");
  list->callback([&run] { run = run_list; });
  add_vm_argument_commands(*vm, run);
}

}  // namespace paravane::cli
