// VMs as JSON: what the API takes and gives, and what the store keeps.
// docs/api.md shows each with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"
#include "control/vm.h"

namespace paravane::control {

nlohmann::json to_json(const VmSpec& spec);
nlohmann::json to_json(const VmStatus& status);

// Strict: unknown keys are refused and check_spec() holds afterwards.
// Errors: kInvalidArgument.
Result<VmSpec> vm_spec_from_json(const nlohmann::json& value);
// Lenient about unknown keys: the daemon may be newer than its client.
Result<VmStatus> vm_status_from_json(const nlohmann::json& value);

// Any text to a JSON value, with no exceptions. Errors: kInvalidArgument (not
// JSON, or one key twice in an object).
Result<nlohmann::json> parse_json(std::string_view text);
// Never fails: bytes that are not UTF-8 are replaced.
std::string print_json(const nlohmann::json& value);

}  // namespace paravane::control
