// paravane vds create, set, delete, list, repair, add-host, remove-host, uplink.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/network_json.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/network_tables.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

constexpr std::string_view kNoUplink = "none";

struct VdsOptions {
  std::string name;
  std::uint32_t mtu = 1500;
  std::string host;                  // empty: the one whose daemon answers
  std::vector<std::string> uplinks;  // of the host, in failover order
};

ExitStatus show_vds(const model::ApiResult<model::SwitchStatus>& vds, const api::ApiClient& client,
                    const Context& context) {
  if (!vds) return report(vds.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print(
      "{}", as_json ? pretty_json(api::to_json(*vds)) : switch_table({*vds}).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus bad_switch(const std::string& name, const Error& error) {
  return report_usage(fmt::format("vds {}: {}", name, error.message));
}

ExitStatus run_create_vds(const VdsOptions& options, const Context& context) {
  const model::DistributedSwitch vds{.name = options.name, .mtu = options.mtu};
  if (const Status good = model::check_switch(vds); !good)
    return report_usage(good.error().message);
  api::ApiClient client = context.client();
  return show_vds(client.create_switch(vds), client, context);
}

ExitStatus run_set_vds(const VdsOptions& options, const Context& context) {
  const model::DistributedSwitch vds{.name = options.name, .mtu = options.mtu};
  if (const Status good = model::check_switch(vds); !good)
    return report_usage(good.error().message);
  api::ApiClient client = context.client();
  return show_vds(client.set_switch_mtu(options.name, options.mtu), client, context);
}

ExitStatus run_delete_vds(const VdsOptions& options, const Context& context) {
  if (const Status good = model::check_name(options.name); !good) {
    return bad_switch(options.name, good.error());
  }
  api::ApiClient client = context.client();
  const auto deleted = client.delete_switch(options.name);
  return deleted ? ExitStatus::kOk : report(deleted.error(), client);
}

ExitStatus run_list_vds(const Context& context) {
  api::ApiClient client = context.client();
  const auto switches = client.list_switches();
  if (!switches) return report(switches.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::SwitchStatus>(*switches, api::to_json)
                           : switch_table(*switches).print(context.format));
  note_empty(switches->empty(), "no switches; create one with: paravane vds create NAME", context);
  return ExitStatus::kOk;
}

ExitStatus run_repair(const Context& context) {
  api::ApiClient client = context.client();
  const auto repair = client.repair_switches();
  if (!repair) return report(repair.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? pretty_json(api::to_json(*repair))
                           : repair_table(*repair).print(context.format));
  return ExitStatus::kOk;
}

// What add-host, remove-host and uplink have in common: `act` does it.
template <typename Act>
ExitStatus change_host(const VdsOptions& options, const Context& context, Act act) {
  model::SwitchHost host{.host = options.host};
  const bool clears = std::ranges::find(options.uplinks, kNoUplink) != options.uplinks.end();
  if (clears && options.uplinks.size() > 1) {
    return bad_switch(options.name, {Errc::kInvalidArgument,
                                     "\"none\" clears the uplinks and cannot be one of several"});
  }
  if (!clears && !options.uplinks.empty()) {
    host.uplink = options.uplinks.front();
    host.standby.assign(options.uplinks.begin() + 1, options.uplinks.end());
  }
  // With a name in its place that is good, so that nobody is asked in vain.
  model::SwitchHost sample = host;
  if (sample.host.empty()) sample.host = "host";
  Status good = model::check_name(options.name);
  if (good) good = model::check_switch_host(sample);
  if (!good) return bad_switch(options.name, good.error());
  api::ApiClient client = context.client();
  if (host.host.empty()) {
    const auto status = client.status();
    if (!status) return report(status.error(), client);
    host.host = status->host;
  }
  return show_vds(act(client, host), client, context);
}

ExitStatus run_add_host(const VdsOptions& options, const Context& context) {
  return change_host(options, context, [&](auto& client, const auto& host) {
    return client.add_switch_host(options.name, host);
  });
}

ExitStatus run_remove_host(const VdsOptions& options, const Context& context) {
  return change_host(options, context, [&](auto& client, const auto& host) {
    return client.remove_switch_host(options.name, host.host);
  });
}

ExitStatus run_uplink(const VdsOptions& options, const Context& context) {
  return change_host(options, context, [&](auto& client, const auto& host) {
    return client.set_switch_uplink(options.name, host);
  });
}

using Action = ExitStatus (*)(const VdsOptions&, const Context&);

// A command with the name of a switch; `add` gives it more.
template <typename Add>
void add_command(CLI::App& vds, Run& run, const char* name, const char* help, Action action,
                 Add add) {
  CLI::App* command = vds.add_subcommand(name, help);
  auto options = std::make_shared<VdsOptions>();
  command->add_option("SWITCH", options->name, "Name of the switch")->required();
  add(*command, *options);
  command->callback([options, action, &run] {
    run = [options, action](const Context& context) { return action(*options, context); };
  });
}

CLI::Option* add_mtu(CLI::App& command, VdsOptions& options) {
  return command
      .add_option(
          "--mtu", options.mtu,
          fmt::format("MTU in bytes, {} to {} (default: 1500)", model::kMinMtu, model::kMaxMtu))
      ->type_name("BYTES");
}

CLI::Option* add_host_name(CLI::App& command, VdsOptions& options, const char* place) {
  return command.add_option(place, options.host, "Name of the host (default: this host)");
}

void add_host_commands(CLI::App& vds, Run& run) {
  add_command(vds, run, "add-host", "Add a host to a switch", run_add_host,
              [](CLI::App& command, VdsOptions& options) {
                add_host_name(command, options, "HOST");
                command
                    .add_option("--uplink", options.uplinks,
                                "Uplink of the host: vmnicN or Linux name (default: none). Each "
                                "further --uplink is a standby, in the order of failover")
                    ->expected(1)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                    ->type_name("NIC");
                command.footer(
                    "Examples:\n"
                    "  paravane vds add-host lan\n"
                    "  paravane vds add-host lan host1 --uplink eth1\n"
                    "  paravane vds add-host lan --uplink eth1 --uplink eth2");
              });
  add_command(vds, run, "remove-host", "Remove a host from a switch", run_remove_host,
              [](CLI::App& command, VdsOptions& options) {
                add_host_name(command, options, "HOST");
                command.footer("Examples:\n  paravane vds remove-host lan");
              });
  add_command(vds, run, "uplink", "Set or clear a host's uplinks on a switch", run_uplink,
              [](CLI::App& command, VdsOptions& options) {
                command
                    .add_option("NIC", options.uplinks,
                                "Uplink: vmnicN or Linux name; \"none\" clears it. Each further "
                                "NIC is a standby, in the order of failover")
                    ->expected(1, static_cast<int>(model::kMaxTeam))
                    ->required();
                add_host_name(command, options, "--host")->type_name("HOST");
                command.footer(
                    "Examples:\n"
                    "  paravane vds uplink lan eth1\n"
                    "  paravane vds uplink lan eth1 eth2\n"
                    "  paravane vds uplink lan none --host host2");
              });
}

}  // namespace

void add_vds_commands(CLI::App& parent, Run& run) {
  CLI::App* vds = parent.add_subcommand("vds", "Manage distributed switches");
  vds->require_subcommand(1);
  vds->footer(
      "Examples:\n"
      "  paravane vds create lan\n"
      "  paravane vds add-host lan --uplink eth1\n"
      "  paravane portgroup create storage --vds lan --vlan 10\n"
      "  paravane vm add db1 --port-group storage");
  add_command(*vds, run, "create", "Create a switch", run_create_vds,
              [](CLI::App& command, VdsOptions& options) {
                add_mtu(command, options);
                command.footer(
                    "Examples:\n"
                    "  paravane vds create lan\n"
                    "  paravane vds create lan --mtu 9000");
              });
  add_command(*vds, run, "set", "Change a switch, even while VMs run", run_set_vds,
              [](CLI::App& command, VdsOptions& options) {
                add_mtu(command, options)->required();
                command.footer("Examples:\n  paravane vds set lan --mtu 9000");
              });
  add_command(*vds, run, "delete", "Delete a switch without port groups", run_delete_vds,
              [](CLI::App& command, VdsOptions&) {
                command.footer("Examples:\n  paravane vds delete lan");
              });
  CLI::App* list = vds->add_subcommand("list", "List switches and their state on this host");
  list->footer(
      "Examples:\n"
      "  paravane vds list\n"
      "  paravane vds list --formatter=json");
  list->callback([&run] { run = run_list_vds; });
  CLI::App* repair =
      vds->add_subcommand("repair", "Repair the switches of this host, and list the repairs");
  repair->footer(
      "The daemon also repairs them when an interface changes. What cannot be repaired is listed "
      "as\n"
      "a problem; an empty list means that all is well.\n"
      "Examples:\n"
      "  paravane vds repair\n"
      "  paravane vds repair --formatter=json");
  repair->callback([&run] { run = run_repair; });
  add_host_commands(*vds, run);
}

}  // namespace paravane::cli
