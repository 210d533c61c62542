// paravane vm add, remove, list, show.

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/adapter_options.h"
#include "cli/cluster_table.h"
#include "cli/commands.h"
#include "cli/left_out.h"
#include "cli/limit_option.h"
#include "cli/machine_options.h"
#include "cli/vm_record.h"
#include "cli/vm_table.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

struct AddOptions {
  std::string name;
  AdapterWords adapter;
  std::optional<std::uint32_t> hw_version;
  std::optional<std::uint32_t> version;
  std::string doorbells = "mapped";
  std::vector<std::string> limits;
  MachineWords machine;
};

Result<model::VmSpec> to_spec(const AddOptions& options) {
  model::VmSpec spec;
  spec.name = options.name;
  spec.hw_version = options.hw_version.value_or(model::default_hardware_version(options.version));
  spec.version = options.version.value_or(model::default_device_version(spec.hw_version));
  const Result<model::AdapterRequest> adapter = adapter_request(options.adapter);
  if (!adapter) return std::unexpected(adapter.error());
  spec.adapters = {
      {.mac = adapter->mac,
       .protocol = adapter->protocol.value_or(model::default_protocol(spec.hw_version)),
       .port_group = adapter->port_group}};
  spec.doorbells = model::parse_doorbells(options.doorbells).value_or(model::Doorbells::kMapped);
  for (const std::string& limit : options.limits) {
    if (Status set = set_limit(limit, spec.limits); !set) return std::unexpected(set.error());
  }
  const Result<model::VmMachineChange> machine = machine_change(options.machine);
  if (!machine) return std::unexpected(machine.error());
  spec.machine = model::apply(*machine, {});
  if (Status good = model::check_spec(spec); !good) {
    return fail(Errc::kInvalidArgument, fmt::format("vm {}: {}", spec.name, good.error().message));
  }
  return spec;
}

ExitStatus run_add(const AddOptions& options, const Context& context) {
  const Result<model::VmSpec> spec = to_spec(options);
  if (!spec) return report_usage(spec.error().message);
  api::ApiClient client = context.client();
  const auto added = client.add_vm(*spec);
  if (!added) return report(added.error(), client);
  print_vm(*added, context);
  return ExitStatus::kOk;
}

ExitStatus run_remove_vm(const std::string& name, bool force, const Context& context) {
  if (const Status good = model::check_name(name); !good) {
    return report_usage(fmt::format("vm {}: {}", name, good.error().message));
  }
  api::ApiClient client = context.client();
  const auto removed = client.remove_vm(name, force);
  return removed ? ExitStatus::kOk : report(removed.error(), client);
}

struct ListOptions {
  bool wide = false;
  bool all_hosts = false;
  std::string host{};  // empty: this one, or all
};

// The other hosts publish which VMs they have, not how each VM is.
ExitStatus run_list_of_cluster(const std::string& host, const Context& context) {
  api::ApiClient client = context.client();
  auto adapters = client.cluster_adapters();
  if (!adapters) return report(adapters.error(), client);
  if (!host.empty()) {
    std::erase_if(*adapters,
                  [&host](const model::ClusterAdapter& one) { return one.host != host; });
  }
  fmt::print("{}", print_cluster_adapters(*adapters, context.format));
  note_empty(adapters->empty(),
             host.empty() ? "no VMs on any host" : fmt::format("no VMs on host {}", host), context);
  return ExitStatus::kOk;
}

ExitStatus run_list(const ListOptions& options, const Context& context) {
  if (options.all_hosts || !options.host.empty()) return run_list_of_cluster(options.host, context);
  api::ApiClient client = context.client();
  const auto vms = client.list_vms();
  if (!vms) return report(vms.error(), client);
  print_vms(*vms, context, options.wide);
  note_empty(vms->empty(), "no VMs; add one with: paravane vm add NAME", context);
  if (const auto status = client.status()) tell_left_out(status->left_out);
  return ExitStatus::kOk;
}

ExitStatus run_show(const std::string& name, const Context& context) {
  if (const Status good = model::check_name(name); !good) {
    return report_usage(fmt::format("vm {}: {}", name, good.error().message));
  }
  api::ApiClient client = context.client();
  const auto vm = client.find_vm(name);
  if (!vm) return report(vm.error(), client);
  if (context.format == text::TableFormat::kJson) {
    print_vm(*vm, context);
    return ExitStatus::kOk;
  }
  fmt::print("{}",
             text::print_records(std::array{vm_record(*vm, runner_of(name))}, context.format));
  return ExitStatus::kOk;
}

void add_add(CLI::App& vm, Run& run) {
  CLI::App* add = vm.add_subcommand("add", "Add a VM with an RDMA adapter");
  auto options = std::make_shared<AddOptions>();
  add->add_option("NAME", options->name, "Name of the VM: a-z, 0-9, '_', '.', '-'")->required();
  add_adapter_options(*add, options->adapter);
  add->add_option("--hw-version", options->hw_version,
                  "Virtual hardware version, 13 to 21; 13 has RoCE v1 only (default: 21)")
      ->type_name("NUMBER");
  add->add_option("--version", options->version,
                  "Device version: 17 with hardware version 13, else 18 to 20 (default: 20)")
      ->type_name("NUMBER");
  add->add_option("--doorbells", options->doorbells,
                  "trapped: for VMMs that cannot map doorbells (default: mapped)")
      ->type_name("mapped|trapped")
      ->check(CLI::IsMember({"mapped", "trapped"}).description(""));
  add->add_option("--limit", options->limits, limit_help())
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  add_machine_options(*add, options->machine);
  add->footer(
      "Examples:\n"
      "  paravane vm add db1\n"
      "  paravane vm add db1 --hw-version 13\n"
      "  paravane vm add db1 --port-group storage\n"
      "  paravane vm add db1 --memory 4G --cpus 2 --disk /srv/db1.qcow2,format=qcow2\n"
      "  paravane vm add db1 --mac 02:50:56:00:00:01 --limit queue_pairs=1024");
  add->callback([options, &run] {
    run = [options](const Context& context) { return run_add(*options, context); };
  });
}

void add_remove_vm(CLI::App& vm, Run& run) {
  CLI::App* remove = vm.add_subcommand("remove", "Remove a VM and its RDMA adapters");
  auto name = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  remove->add_option("NAME", *name, "Name of the VM")->required();
  remove->add_flag("--force", *force,
                   "Remove the VM even if it is running; it will lose its adapter");
  remove->footer(
      "Examples:\n"
      "  paravane vm remove db1\n"
      "  paravane vm remove db1 --force");
  remove->callback([name, force, &run] {
    run = [name, force](const Context& context) { return run_remove_vm(*name, *force, context); };
  });
}

void add_show(CLI::App& vm, Run& run) {
  CLI::App* show = vm.add_subcommand("show", "Show a VM: memory, disks, limits, adapters");
  auto name = std::make_shared<std::string>();
  show->add_option("NAME", *name, "Name of the VM")->required();
  show->footer(
      "Examples:\n"
      "  paravane vm show db1\n"
      "  paravane vm show db1 --formatter=json");
  show->callback(
      [name, &run] { run = [name](const Context& context) { return run_show(*name, context); }; });
}

}  // namespace

void add_vm_commands(CLI::App& parent, Run& run) {
  CLI::App* vm = parent.add_subcommand("vm", "Manage VMs and their RDMA adapters");
  vm->require_subcommand(1);
  vm->footer(
      "Examples:\n"
      "  paravane vm add db1\n"
      "  paravane vm list --formatter=csv");
  add_add(*vm, run);
  add_remove_vm(*vm, run);
  CLI::App* list = vm->add_subcommand("list", "List VMs and their RDMA adapters");
  auto options = std::make_shared<ListOptions>();
  CLI::Option* wide = list->add_option_function<std::string>(
      "-o,--output", [options](const std::string&) { options->wide = true; },
      "Show all columns, even beyond 80 characters");
  wide->type_name("wide")->check(CLI::IsMember({"wide"}).description(""));
  list->add_flag("--all-hosts", options->all_hosts, "List the VMs of all hosts of the cluster")
      ->excludes(wide);
  list->add_option("--host", options->host, "List the VMs of one host of the cluster")
      ->type_name("HOST")
      ->excludes(wide);
  list->footer(
      "Examples:\n"
      "  paravane vm list\n"
      "  paravane vm list -o wide\n"
      "  paravane vm list --all-hosts\n"
      "  paravane vm list --formatter=json");
  list->callback([options, &run] {
    run = [options](const Context& context) { return run_list(*options, context); };
  });
  add_show(*vm, run);
  add_vm_change_commands(*vm, run);
  add_vm_argument_commands(*vm, run);
  add_vm_hot_add_command(*vm, run);
  add_vm_check_command(*vm, run);
  add_vm_start_commands(*vm, run);
  add_vm_power_commands(*vm, run);
}

}  // namespace paravane::cli
