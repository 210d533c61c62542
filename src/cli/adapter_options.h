// --mac, --protocol and --port-group: what one adapter is asked to be.

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

// Empty: not asked for. Errors: kInvalidArgument, naming the option.
Result<model::AdapterRequest> adapter_request(const AdapterWords& words);
// "none" is the empty name. Errors: kInvalidArgument, naming the option.
Result<std::string> port_group_name(const std::string& word);

}  // namespace paravane::cli
