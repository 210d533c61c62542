#include "cli/adapter_options.h"

#include <fmt/core.h>

#include "model/distributed_switch.h"

namespace paravane::cli {

void add_adapter_options(CLI::App& command, AdapterWords& words) {
  command
      .add_option("--mac", words.mac,
                  "MAC address of the adapter's vmxnet3 NIC (default: derived from the VM's name)")
      ->type_name("MAC");
  add_protocol_option(command, words.protocol,
                      "RoCE version (default: v2; v1 with hardware version 13)");
  add_port_group_option(command, words.port_group,
                        "Port group of adapter and NIC (default: none; connect the NIC yourself)");
}

CLI::Option* add_port_group_option(CLI::App& command, std::string& port_group,
                                   const std::string& help) {
  return command.add_option("--port-group", port_group, help)->type_name("NAME");
}

CLI::Option* add_protocol_option(CLI::App& command, std::string& protocol,
                                 const std::string& help) {
  return command.add_option("--protocol", protocol, help)
      ->type_name("v1|v2")
      ->check(CLI::IsMember({"v1", "v2"}).description(""));
}

Result<std::string> port_group_name(const std::string& word) {
  if (word == model::kNoPortGroup) return std::string();
  if (Status good = model::check_adapter_group(word); !good) {
    return fail(Errc::kInvalidArgument, fmt::format("--port-group: {}", good.error().message));
  }
  return word;
}

Result<model::AdapterRequest> adapter_request(const AdapterWords& words) {
  model::AdapterRequest request{.mac = model::parse_mac(words.mac),
                                .protocol = model::parse_protocol(words.protocol)};
  if (!words.mac.empty() && !request.mac) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("--mac {}: must be a MAC address, such as 02:50:56:12:34:56", words.mac));
  }
  const Result<std::string> group = port_group_name(words.port_group);
  if (!group) return std::unexpected(group.error());
  request.port_group = *group;
  if (Status good = model::check_mac({.mac = request.mac}); !good) {
    return fail(Errc::kInvalidArgument, fmt::format("--mac: {}", good.error().message));
  }
  return request;
}

}  // namespace paravane::cli
