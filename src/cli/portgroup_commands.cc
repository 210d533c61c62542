// paravane portgroup create, set, delete, list.

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "api/network_json.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/network_tables.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

struct CreateOptions {
  model::PortGroup group;
  std::string vlan = "0";
  std::string roce = "off";
  std::string routed = "off";
};

struct ChangeOptions {
  std::string name;
  std::string roce;    // empty: it stays
  std::string routed;  // likewise
};

ExitStatus show_portgroup(const model::ApiResult<model::PortGroupStatus>& group,
                          const api::ApiClient& client, const Context& context) {
  if (!group) return report(group.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? pretty_json(api::to_json(*group))
                           : port_group_table({*group}).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus bad_portgroup(const std::string& name, const Error& error) {
  return report_usage(fmt::format("portgroup {}: {}", name, error.message));
}

ExitStatus run_create_portgroup(const CreateOptions& options, const Context& context) {
  model::PortGroup group = options.group;
  const Result<std::uint32_t> vlan = model::parse_vlan(options.vlan);
  if (!vlan) return report_usage(vlan.error().message);
  group.vlan = *vlan;
  const Result<bool> roce = model::parse_roce(options.roce);
  if (!roce) return report_usage(roce.error().message);
  group.native_roce = *roce;
  const Result<bool> routed = model::parse_routed(options.routed);
  if (!routed) return report_usage(routed.error().message);
  group.routed = *routed;
  if (const Status good = model::check_port_group(group); !good)
    return report_usage(good.error().message);
  api::ApiClient client = context.client();
  return show_portgroup(client.create_port_group(group), client, context);
}

ExitStatus run_set_portgroup(const ChangeOptions& options, const Context& context) {
  const std::string& name = options.name;
  if (const Status good = model::check_name(name); !good) return bad_portgroup(name, good.error());
  model::PortGroupChange change;
  if (!options.roce.empty()) {
    const Result<bool> roce = model::parse_roce(options.roce);
    if (!roce) return report_usage(roce.error().message);
    change.native_roce = *roce;
  }
  if (!options.routed.empty()) {
    const Result<bool> routed = model::parse_routed(options.routed);
    if (!routed) return report_usage(routed.error().message);
    change.routed = *routed;
  }
  if (change.empty()) return report_usage("nothing to change: specify --roce or --routed");
  api::ApiClient client = context.client();
  return show_portgroup(client.change_port_group(name, change), client, context);
}

ExitStatus run_delete_portgroup(const std::string& name, const Context& context) {
  if (const Status good = model::check_name(name); !good) return bad_portgroup(name, good.error());
  api::ApiClient client = context.client();
  const auto deleted = client.delete_port_group(name);
  return deleted ? ExitStatus::kOk : report(deleted.error(), client);
}

ExitStatus run_list_portgroup(const Context& context) {
  api::ApiClient client = context.client();
  const auto groups = client.list_port_groups();
  if (!groups) return report(groups.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::PortGroupStatus>(*groups, api::to_json)
                           : port_group_table(*groups).print(context.format));
  note_empty(groups->empty(),
             "no port groups; create one with: paravane portgroup create NAME --vds SWITCH",
             context);
  return ExitStatus::kOk;
}

}  // namespace

void add_portgroup_commands(CLI::App& parent, Run& run) {
  CLI::App* portgroup = parent.add_subcommand(
      "portgroup", "Create, change, list and delete port groups of distributed switches");
  portgroup->require_subcommand(1);
  portgroup->footer("Examples:\n  paravane portgroup create storage --vds lan --vlan 10");

  CLI::App* create = portgroup->add_subcommand("create", "Create a port group");
  auto options = std::make_shared<CreateOptions>();
  create->add_option("GROUP", options->group.name, "Name of the port group")->required();
  create->add_option("--vds", options->group.vds, "Switch of the port group")
      ->type_name("SWITCH")
      ->required();
  create
      ->add_option("--vlan", options->vlan,
                   "VLAN, 1 to 4094; 0 means untagged, 4095 guest VLAN tagging (default: 0)")
      ->type_name("NUMBER");
  create
      ->add_option("--roce", options->roce,
                   "Let its VMs reach native RoCE endpoints: native or off (default: off)")
      ->type_name("native|off");
  create
      ->add_option("--routed", options->routed,
                   "Let its VMs and those of other such port groups reach each other by RoCE v2 "
                   "through a router: on or off (default: off)")
      ->type_name("on|off");
  create->footer(
      "Examples:\n"
      "  paravane portgroup create vms --vds lan\n"
      "  paravane portgroup create storage --vds lan --vlan 10\n"
      "  paravane portgroup create storage --vds lan --vlan 10 --roce native");
  create->callback([options, &run] {
    run = [options](const Context& context) { return run_create_portgroup(*options, context); };
  });

  CLI::App* set = portgroup->add_subcommand("set", "Change a port group, even while VMs run");
  auto change = std::make_shared<ChangeOptions>();
  set->add_option("GROUP", change->name, "Name of the port group")->required();
  set->add_option("--roce", change->roce,
                  "Let its VMs reach native RoCE endpoints at once: native or off")
      ->type_name("native|off");
  set->add_option("--routed", change->routed,
                  "Let its VMs and those of other such port groups reach each other by RoCE v2 "
                  "through a router: on or off")
      ->type_name("on|off");
  set->footer(
      "Examples:\n"
      "  paravane portgroup set storage --roce native\n"
      "  paravane portgroup set storage --routed on\n"
      "  paravane portgroup set storage --roce off");
  set->callback([change, &run] {
    run = [change](const Context& context) { return run_set_portgroup(*change, context); };
  });

  CLI::App* remove = portgroup->add_subcommand("delete", "Delete an empty port group");
  auto name = std::make_shared<std::string>();
  remove->add_option("GROUP", *name, "Name of the port group")->required();
  remove->footer("Examples:\n  paravane portgroup delete storage");
  remove->callback([name, &run] {
    run = [name](const Context& context) { return run_delete_portgroup(*name, context); };
  });

  CLI::App* list = portgroup->add_subcommand("list", "List port groups and their adapters");
  list->footer(
      "Examples:\n"
      "  paravane portgroup list\n"
      "  paravane portgroup list --formatter=csv");
  list->callback([&run] { run = run_list_portgroup; });
}

}  // namespace paravane::cli
