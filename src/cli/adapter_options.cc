#include "cli/adapter_options.h"

#include <fmt/format.h>

namespace paravane::cli {

void add_adapter_options(CLI::App& command, std::string& mac, std::string& protocol) {
  command
      .add_option("--mac", mac,
                  "MAC address of the vmxnet3 NIC beside it (default: chosen by the name)")
      ->type_name("MAC");
  add_protocol_option(command, protocol, "RoCE version (v2; with hardware version 13: v1)");
}

CLI::Option* add_protocol_option(CLI::App& command, std::string& protocol,
                                 const std::string& help) {
  return command.add_option("--protocol", protocol, help)
      ->type_name("v1|v2")
      ->check(CLI::IsMember({"v1", "v2"}).description(""));
}

Result<control::AdapterRequest> adapter_request(const std::string& mac,
                                                const std::string& protocol) {
  control::AdapterRequest request{.mac = control::parse_mac(mac),
                                  .protocol = control::parse_protocol(protocol)};
  if (!mac.empty() && !request.mac) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--mac {}: an address looks like 02:50:56:12:34:56", mac));
  }
  if (Status good = control::check_mac({.mac = request.mac}); !good) {
    return fail(Errc::kInvalidArgument, fmt::format("--mac: {}", good.error().message));
  }
  return request;
}

}  // namespace paravane::cli
