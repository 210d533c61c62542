// paravane network ip interface list, add, remove; ipv4 get, set; rdma device vmknic list;
// and esxcfg-vmknic.

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "cli/esxcli_tree.h"
#include "cli/vmkernel_tables.h"

namespace paravane::cli {
namespace {

struct InterfaceOptions {
  std::string name;
  std::string port_group;
  std::string mac;
  std::string type = "static";
  std::string address;
  std::string netmask;
};

template <typename Print>
ExitStatus show_vmknic(const Context& context, Print print) {
  api::ApiClient client = context.client();
  const auto configuration = client.vmkernel_configuration();
  if (!configuration) return report(configuration.error(), client);
  fmt::print("{}", print(*configuration));
  return ExitStatus::kOk;
}

ExitStatus run_list_vmknic(const Context& context) {
  return show_vmknic(context, [&context](const model::VmkernelConfiguration& all) {
    return text::print_records(vmknic_records(all.vmknics), context.format);
  });
}

ExitStatus run_ipv4_get(const InterfaceOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  auto configuration = client.vmkernel_configuration();
  if (!configuration) return report(configuration.error(), client);
  std::vector<model::VmknicStatus>& vmknics = configuration->vmknics;
  if (!options.name.empty()) {
    std::vector<std::string> names;
    names.reserve(vmknics.size());
    for (const model::VmknicStatus& one : vmknics) names.push_back(one.spec.name);
    std::erase_if(vmknics, [&](const auto& one) { return one.spec.name != options.name; });
    if (vmknics.empty()) {
      return report_failure(fmt::format("there is no {} on this host", options.name),
                            do_you_mean(options.name, names) +
                                "List the interfaces with: paravane network ip interface list");
    }
  }
  fmt::print("{}", ipv4_table(vmknics).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_esxcfg_vmknic(const Context& context) {
  return show_vmknic(context, [&context](const model::VmkernelConfiguration& all) {
    const bool as_table = context.format == text::TableFormat::kTable;
    return as_table ? esxcfg_vmknics(all.vmknics)
                    : text::print_records(vmknic_records(all.vmknics), context.format);
  });
}

ExitStatus run_rdma_list(const Context& context) {
  api::ApiClient client = context.client();
  const auto configuration = client.vmkernel_configuration();
  if (!configuration) return report(configuration.error(), client);
  const auto devices = client.list_rdma_devices();
  if (!devices) return report(devices.error(), client);
  const auto switches = client.list_switches();
  if (!switches) return report(switches.error(), client);
  fmt::print("{}",
             rdma_vmknic_table(*devices, configuration->vmknics, *switches).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus done(const model::ApiResult<model::VmknicStatus>& vmknic, const api::ApiClient& client) {
  if (!vmknic) return report(vmknic.error(), client);
  if (vmknic->problem.empty()) return ExitStatus::kOk;
  return report_failure(fmt::format("{} is configured, but does not work yet: {}",
                                    vmknic->spec.name, vmknic->problem),
                        "The daemon keeps trying; see: paravane network ip interface list");
}

// "--ipv4 10.0.0: give an address", or "--ipv4: ..." where there is no value.
ExitStatus wrong(std::string_view option, const std::string& value, std::string_view remedy) {
  return report_usage(fmt::format("{}{}{}: {}", option, value.empty() ? "" : " ", value, remedy));
}

ExitStatus run_add_vmknic(const InterfaceOptions& options, const Context& context) {
  model::Vmknic vmknic{.name = options.name, .port_group = options.port_group};
  if (!options.mac.empty()) {
    vmknic.mac = model::parse_mac(options.mac);
    if (!vmknic.mac) {
      return wrong("--mac-address", options.mac,
                   "must be a MAC address, such as 02:50:56:12:34:56");
    }
  }
  if (const Status good = model::check_vmknic(vmknic); !good)
    return report_usage(good.error().message);
  api::ApiClient client = context.client();
  return done(client.add_vmknic(vmknic), client);
}

ExitStatus run_remove_vmknic(const InterfaceOptions& options, const Context& context) {
  if (const Status good = model::check_vmknic_name(options.name); !good) {
    return report_usage(good.error().message);
  }
  api::ApiClient client = context.client();
  const auto removed = client.remove_vmknic(options.name);
  return removed ? ExitStatus::kOk : report(removed.error(), client);
}

ExitStatus run_ipv4_set(const InterfaceOptions& options, const Context& context) {
  if (const Status good = model::check_vmknic_name(options.name); !good) {
    return report_usage(good.error().message);
  }
  model::VmknicChange change;
  if (options.type == "dhcp") {
    return report_usage("DHCP is not supported; set an address with --type static");
  }
  if (options.type == "static") {
    const auto address = parse_ipv4(options.address);
    const auto prefix = parse_netmask(options.netmask);
    if (!address)
      return wrong("--ipv4", options.address, "must be an address, such as 192.168.1.241");
    if (!prefix)
      return wrong("--netmask", options.netmask, "must be a netmask, such as 255.255.255.0");
    change.ipv4 = Ipv4Interface{.address = *address, .prefix = *prefix};
    if (const Status good = model::check_private(*change.ipv4); !good) {
      return report_usage(good.error().message);
    }
  } else if (options.type != "none") {
    return wrong("--type", options.type, "must be static or none");
  }
  api::ApiClient client = context.client();
  return done(client.set_vmknic(options.name, change), client);
}

using Action = ExitStatus (*)(const InterfaceOptions&, const Context&);

CLI::Option* add_name(CLI::App& command, InterfaceOptions& options) {
  return command.add_option("-i,--interface-name", options.name, "VMkernel interface")
      ->type_name("vmkN");
}

std::shared_ptr<InterfaceOptions> take_vmkernel_options(CLI::App& command, Run& run,
                                                        Action action) {
  auto options = std::make_shared<InterfaceOptions>();
  command.callback([options, action, &run] {
    run = [options, action](const Context& context) { return action(*options, context); };
  });
  return options;
}

void add_changes(CLI::App& root, Run& run) {
  CLI::App& add = add_esxcli_command(root, "network ip interface add",
                                     "Add a VMkernel interface to a port group",
                                     {"network ip interface add -i vmk1 -p vg-RDMA"});
  const auto added = take_vmkernel_options(add, run, run_add_vmknic);
  add_name(add, *added)->required();
  add.add_option("-p,--portgroup-name", added->port_group, "Port group of the interface")
      ->type_name("NAME")
      ->required();
  add.add_option("-M,--mac-address", added->mac, "MAC address (default: a free one)")
      ->type_name("MAC");
  CLI::App& remove =
      add_esxcli_command(root, "network ip interface remove", "Remove a VMkernel interface",
                         {"network ip interface remove -i vmk1"});
  add_name(remove, *take_vmkernel_options(remove, run, run_remove_vmknic))->required();
  CLI::App& set = add_esxcli_command(
      root, "network ip interface ipv4 set", "Set the IPv4 address of a VMkernel interface",
      {"network ip interface ipv4 set -i vmk1 -t static -I 192.168.1.241 -N 255.255.255.0",
       "network ip interface ipv4 set -i vmk1 -t none"});
  const auto changed = take_vmkernel_options(set, run, run_ipv4_set);
  add_name(set, *changed)->required();
  set.add_option("-t,--type", changed->type, "static, or none for no address (default: static)")
      ->type_name("TYPE");
  set.add_option("-I,--ipv4", changed->address, "Address in a private network")
      ->type_name("ADDRESS");
  set.add_option("-N,--netmask", changed->netmask, "Netmask of the network")->type_name("NETMASK");
}

}  // namespace

void add_vmkernel_commands(CLI::App& root, Run& run) {
  add_esxcli_command(root, "network ip interface list",
                     "List the VMkernel interfaces of this host; prints nothing if there are none")
      .callback([&run] { run = run_list_vmknic; });
  CLI::App& get = add_esxcli_command(root, "network ip interface ipv4 get",
                                     "List the IPv4 addresses of VMkernel interfaces");
  add_name(get, *take_vmkernel_options(get, run, run_ipv4_get));
  add_changes(root, run);
  add_esxcli_command(root, "rdma device vmknic list",
                     "List the VMkernel interfaces on the uplinks of RDMA devices")
      .callback([&run] { run = run_rdma_list; });
}

void add_esxcfg_vmknic(CLI::App& root, Run& run) {
  root.description(
      "The VMkernel interfaces of this host, as esxcfg-vmknic of vSphere 6.5 prints them.");
  root.footer("Examples:\n  esxcfg-vmknic -l\nSee also paravane(1).");
  root.add_flag("-l,--list")->description("List them")->required();
  root.callback([&run] { run = run_esxcfg_vmknic; });
}

}  // namespace paravane::cli
