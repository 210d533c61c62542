// The options --mac, --protocol and --port-group, which configure one adapter of a VM, and the
// checks of their values. The commands that add a VM or an adapter share this code.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "model/vm_change.h"

namespace paravane::cli {

struct AdapterWords {
  std::string mac{};
  std::string protocol{};
  std::string port_group{};
};
void add_adapter_options(CLI::App& command, AdapterWords& words);
CLI::Option* add_protocol_option(CLI::App& command, std::string& protocol, const std::string& help);

CLI::Option* add_port_group_option(CLI::App& command, std::string& port_group,
                                   const std::string& help);

// The request that the options describe. An option that was not given leaves its part of the
// request empty. Errors: kInvalidArgument; the message names the option.
Result<model::AdapterRequest> adapter_request(const AdapterWords& words);
// The name of a port group as the API expects it, in which the word "none" becomes the empty name.
// Errors: kInvalidArgument; the message names the option.
Result<std::string> port_group_name(const std::string& word);

}  // namespace paravane::cli
