// --mac and --protocol: what one adapter is asked to be.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "control/vm_change.h"

namespace paravane::cli {

void add_adapter_options(CLI::App& command, std::string& mac, std::string& protocol);
CLI::Option* add_protocol_option(CLI::App& command, std::string& protocol, const std::string& help);

// Empty: not asked for. Errors: kInvalidArgument, naming the option.
Result<control::AdapterRequest> adapter_request(const std::string& mac,
                                                const std::string& protocol);

}  // namespace paravane::cli
