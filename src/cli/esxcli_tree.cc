#include "cli/esxcli_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

namespace paravane::cli {
namespace {

struct Group {
  std::string_view path;
  const char* description;
  const char* example;  // after the program's name
};

constexpr std::array kGroups = std::to_array<Group>({
    {"network", "Networking of this host, as in esxcli", "network nic list"},
    {"network firewall", "Firewall of this host", "network firewall ruleset list"},
    {"network firewall ruleset", "Services that the firewall allows or blocks",
     "network firewall ruleset list"},
    {"network ip", "This host's own addresses", "network ip interface list"},
    {"network ip interface", "vmkernel interfaces (vmkN)", "network ip interface list"},
    {"network ip interface ipv4", "IPv4 addresses of VMkernel interfaces",
     "network ip interface ipv4 get"},
    {"network nic", "Physical NICs (vmnicN)", "network nic list"},
    {"network nic dcb", "Data Center Bridging of NICs", "network nic dcb status get -n vmnic0"},
    {"network nic dcb status", "Status of Data Center Bridging",
     "network nic dcb status get -n vmnic0"},
    {"network nic pauseParams", "Pause frames of NICs", "network nic pauseParams list"},
    {"network vswitch", "Virtual switches", "network vswitch dvs vmware list"},
    {"network vswitch dvs", "Distributed switches", "network vswitch dvs vmware list"},
    {"network vswitch dvs vmware", "Distributed switches, as this host sees them",
     "network vswitch dvs vmware list"},
    {"network vswitch standard", "The uplinks of switches on this host",
     "network vswitch standard policy failover get -v lan"},
    {"network vswitch standard policy", "Policies of a switch on this host",
     "network vswitch standard policy failover get -v lan"},
    {"network vswitch standard policy failover", "Uplinks of a switch as a team",
     "network vswitch standard policy failover get -v lan"},
    {"rdma", "RDMA of this host, as in esxcli", "rdma device list"},
    {"rdma device", "RDMA devices (vmrdmaN)", "rdma device list"},
    {"rdma device protocol", "Protocols of RDMA devices", "rdma device protocol list"},
    {"rdma device stats", "Counters of RDMA devices", "rdma device stats get -d vmrdma0"},
    {"rdma device vmknic", "VMkernel interfaces of RDMA devices", "rdma device vmknic list"},
    {"storage", "Storage of this host, as in esxcli", "storage core adapter list"},
    {"storage core", "Storage adapters, LUNs and paths", "storage core adapter list"},
    {"storage core adapter", "Storage adapters (vmhbaN)", "storage core adapter list"},
    {"storage core device", "LUNs", "storage core device list"},
    {"storage core path", "Paths to LUNs", "storage core path list"},
    {"storage nmp", "Multipathing of LUNs", "storage nmp device list"},
    {"storage nmp device", "LUNs with the state of their paths", "storage nmp device list"},
    {"storage nmp path", "Paths with their policy's state", "storage nmp path list"},
    {"system", "System settings, as in esxcli", "system settings advanced list"},
    {"system settings", "Settings of this host", "system settings advanced list"},
    {"system settings advanced", "Advanced settings, such as /Net/PVRDMAVmknic",
     "system settings advanced list"},
});

const CLI::App& top_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app : top_of(*app.get_parent());
}

}  // namespace

CLI::App& esxcli_group(CLI::App& root, std::string_view path) {
  const auto* const group = std::ranges::find(kGroups, path, &Group::path);
  assert(group != kGroups.end());
  const std::size_t blank = path.rfind(' ');
  const bool is_top = blank == std::string_view::npos;
  CLI::App& parent = is_top ? root : esxcli_group(root, path.substr(0, blank));
  const std::string name(is_top ? path : path.substr(blank + 1));
  const auto known =
      parent.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; });
  if (!known.empty()) return *known.front();
  CLI::App* made = parent.add_subcommand(name, group->description);
  made->require_subcommand(1);
  made->footer("Examples:\n  " + top_of(root).get_name() + " " + group->example);
  return *made;
}

CLI::App& add_esxcli_command(CLI::App& root, std::string_view path, const std::string& description,
                             const std::vector<std::string>& examples) {
  const std::size_t blank = path.rfind(' ');
  CLI::App* command = esxcli_group(root, path.substr(0, blank))
                          .add_subcommand(std::string(path.substr(blank + 1)), description);
  const std::string program = top_of(root).get_name();
  std::string footer = "Examples:";
  for (const std::string& example :
       examples.empty() ? std::vector<std::string>{std::string(path)} : examples) {
    footer += fmt::format("\n  {} {}", program, example);
  }
  command->footer(footer);
  return *command;
}

void add_esxcli_commands(CLI::App& root, Run& run) {
  add_nic_commands(root, run);
  add_rdma_device_commands(root, run);
  add_dvs_commands(root, run);
  add_failover_commands(root, run);
  add_storage_commands(root, run);
  add_vmkernel_commands(root, run);
  add_system_commands(root, run);
}

}  // namespace paravane::cli
