// paravane vm set, and vm adapter add, remove, connect, disconnect.

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/adapter_options.h"
#include "cli/commands.h"
#include "cli/limit_option.h"
#include "cli/machine_options.h"
#include "cli/vm_table.h"
#include "model/vm_change.h"
#include "vmm/places.h"
#include "vmm/plug.h"

namespace paravane::cli {
namespace {

struct SetOptions {
  std::string name;
  std::optional<std::uint32_t> hw_version;
  std::string protocol;
  std::optional<std::string> port_group;
  std::optional<std::uint32_t> adapter;
  std::vector<std::string> limits;
  MachineWords machine;
};

struct AdapterOptions {
  std::string name;
  AdapterWords words;
  std::uint32_t number = 0;
  bool force = false;
};

Result<model::VmChange> to_change(const SetOptions& options) {
  if (Status good = model::check_name(options.name); !good) return std::unexpected(good.error());
  model::VmChange change{.hw_version = options.hw_version,
                         .protocol = model::parse_protocol(options.protocol),
                         .adapter = options.adapter,
                         .limits = {}};
  for (const std::string& option : options.limits) {
    const auto limit = parse_limit(option);
    if (!limit) return std::unexpected(limit.error());
    change.limits.push_back(*limit);
  }
  if (options.port_group) {
    Result<std::string> group = port_group_name(*options.port_group);
    if (!group) return std::unexpected(group.error());
    change.port_group = std::move(*group);
  }
  Result<model::VmMachineChange> machine = machine_change(options.machine);
  if (!machine) return std::unexpected(machine.error());
  change.machine = std::move(*machine);
  if (Status good = model::check_change(change); !good) return std::unexpected(good.error());
  return change;
}

ExitStatus bad_vm(const std::string& name, const Error& error) {
  return report_usage(fmt::format("vm {}: {}", name, error.message));
}

ExitStatus show_vm(const model::ApiResult<model::VmStatus>& vm, const api::ApiClient& client,
                   const Context& context) {
  if (!vm) return report(vm.error(), client);
  print_vm(*vm, context);
  return ExitStatus::kOk;
}

ExitStatus run_set_vm(const SetOptions& options, const Context& context) {
  Result<model::VmChange> change = to_change(options);
  if (!change) return bad_vm(options.name, change.error());
  api::ApiClient client = context.client();
  const auto before = client.find_vm(options.name);
  if (!before) return report(before.error(), client);
  // Another administrator's change in between is not lost unseen.
  if (!before->revision.empty()) change->revision = before->revision;
  return show_vm(client.set_vm(options.name, *change), client, context);
}

// The number that the VM had not before. Others may have added some in between; then ours is
// the highest, since each gets the lowest that is free.
std::uint32_t new_adapter(const model::VmStatus& before, const model::VmStatus& after) {
  std::uint32_t number = 0;
  for (const model::AdapterSpec& adapter : after.spec.adapters) {
    if (model::find_adapter(before.spec, adapter.number) == nullptr) number = adapter.number;
  }
  return number;
}

// The running guest gets it if the VM is one of ours. Errors: it is not plugged, and why.
Status plug_if_running(const model::VmStatus& vm, std::uint32_t adapter) {
  const std::string& name = vm.spec.name;
  const auto places = vmm::Places::usual();
  const vmm::Runner runner = places ? places->runner(name) : vmm::Runner{};
  if (runner.state == vmm::Runner::State::kRunning) {
    const Status plugged = vmm::plug(vm, adapter, *places);
    if (plugged) return {};
    return fail(plugged.error().code,
                fmt::format("adapter {} was added, but the VM gets it only at its next start, "
                            "because it cannot be hot-added now: {}",
                            adapter, plugged.error().message));
  }
  if (is_attached(vm)) {
    fmt::print(stderr,
               "paravane: vm {}: the VM gets adapter {} at its next start. To hot-add it now:\n"
               "  paravane vm hot-add-commands {} --adapter {} --bus ID\n",
               name, adapter, name, adapter);
  }
  return {};
}

ExitStatus run_adapter_add(const AdapterOptions& options, const Context& context) {
  if (const Status good = model::check_name(options.name); !good) {
    return bad_vm(options.name, good.error());
  }
  const auto request = adapter_request(options.words);
  if (!request) return bad_vm(options.name, request.error());
  api::ApiClient client = context.client();
  const auto before = client.find_vm(options.name);
  if (!before) return report(before.error(), client);
  const auto added = client.add_adapter(options.name, *request);
  if (!added) return report(added.error(), client);
  if (added->spec.name != options.name) {
    return report_failure(
        fmt::format("vm {}: the daemon's response is about another VM", options.name), "");
  }
  if (const Status plugged = plug_if_running(*added, new_adapter(*before, *added)); !plugged) {
    return report_failure(fmt::format("vm {}: {}", options.name, plugged.error().message), "");
  }
  return show_vm(client.find_vm(options.name), client, context);
}

ExitStatus run_adapter_remove(const AdapterOptions& options, const Context& context) {
  if (const Status good = model::check_name(options.name); !good) {
    return bad_vm(options.name, good.error());
  }
  api::ApiClient client = context.client();
  return show_vm(client.remove_adapter(options.name, options.number, options.force), client,
                 context);
}

ExitStatus run_connect(const AdapterOptions& options, bool connected, const Context& context) {
  if (const Status good = model::check_name(options.name); !good) {
    return bad_vm(options.name, good.error());
  }
  api::ApiClient client = context.client();
  return show_vm(client.set_connected(options.name, options.number, connected), client, context);
}

void add_set(CLI::App& vm, Run& run) {
  CLI::App* set =
      vm.add_subcommand("set", "Change a VM, which must be off unless only port groups change");
  auto options = std::make_shared<SetOptions>();
  set->add_option("NAME", options->name, "Name of the VM")->required();
  set->add_option("--hw-version", options->hw_version,
                  "Virtual hardware version, 13 to 21; does not change protocols")
      ->type_name("NUMBER");
  add_protocol_option(*set, options->protocol, "RoCE version of all adapters");
  set->add_option("--port-group", options->port_group,
                  "Port group of all adapters; \"none\" for no port group")
      ->type_name("NAME|none");
  set->add_option("--adapter", options->adapter,
                  "Change protocol and port group of this adapter only")
      ->type_name("NUMBER");
  set->add_option("--limit", options->limits, limit_help() + "; \"default\" removes a limit")
      ->type_name("NAME=NUMBER|default")
      ->allow_extra_args(false);
  add_machine_options(*set, options->machine);
  set->footer(
      "Examples:\n"
      "  paravane vm set db1 --hw-version 14\n"
      "  paravane vm set db1 --hw-version 13 --protocol v1\n"
      "  paravane vm set db1 --adapter 2 --port-group backup\n"
      "  paravane vm set db1 --memory 8G --lock-memory\n"
      "  paravane vm set db1 --limit queue_pairs=1024 --limit gids=default");
  set->callback([options, &run] {
    run = [options](const Context& context) { return run_set_vm(*options, context); };
  });
}

void add_adapter_add(CLI::App& adapter, Run& run) {
  CLI::App* add = adapter.add_subcommand("add", "Add an RDMA adapter to a VM, even a running one");
  auto options = std::make_shared<AdapterOptions>();
  add->add_option("NAME", options->name, "Name of the VM")->required();
  add_adapter_options(*add, options->words);
  add->footer(
      "Examples:\n"
      "  paravane vm adapter add db1\n"
      "  paravane vm adapter add db1 --protocol v1 --mac 02:50:56:00:00:02");
  add->callback([options, &run] {
    run = [options](const Context& context) { return run_adapter_add(*options, context); };
  });
}

void add_adapter_remove(CLI::App& adapter, Run& run) {
  CLI::App* remove = adapter.add_subcommand("remove", "Remove an additional adapter from a VM");
  auto options = std::make_shared<AdapterOptions>();
  remove->add_option("NAME", options->name, "Name of the VM")->required();
  remove->add_option("NUMBER", options->number, "Number of the adapter, as vm list shows it")
      ->required()
      ->check(CLI::Range(1u, model::kMaxAdapters).description(""));
  remove->add_flag("--force", options->force,
                   "Remove even while the VM runs; it loses the device until it is restarted");
  remove->footer("Examples:\n  paravane vm adapter remove db1 2");
  remove->callback([options, &run] {
    run = [options](const Context& context) { return run_adapter_remove(*options, context); };
  });
}

void add_connect(CLI::App& adapter, Run& run, bool connected) {
  CLI::App* connect = adapter.add_subcommand(
      connected ? "connect" : "disconnect",
      connected ? "Connect an adapter to its switch, even while the VM is running"
                : "Disconnect an adapter from its switch, even while the VM is running");
  auto options = std::make_shared<AdapterOptions>();
  options->number = 1;
  connect->add_option("NAME", options->name, "Name of the VM")->required();
  connect->add_option("NUMBER", options->number, "Number of the adapter, as vm list shows it")
      ->capture_default_str()
      ->check(CLI::Range(1u, model::kMaxAdapters).description(""));
  connect->footer(connected ? "Examples:\n  paravane vm adapter connect db1"
                            : "Examples:\n  paravane vm adapter disconnect db1 2");
  connect->callback([options, connected, &run] {
    run = [options, connected](const Context& context) {
      return run_connect(*options, connected, context);
    };
  });
}

}  // namespace

void add_vm_change_commands(CLI::App& vm, Run& run) {
  add_set(vm, run);
  CLI::App* adapter = vm.add_subcommand("adapter", "Manage the RDMA adapters of a VM");
  adapter->require_subcommand(1);
  adapter->footer("Examples:\n  paravane vm adapter add db1");
  add_adapter_add(*adapter, run);
  add_adapter_remove(*adapter, run);
  add_connect(*adapter, run, true);
  add_connect(*adapter, run, false);
}

}  // namespace paravane::cli
