// VMs as JSON: what the API takes and gives, and what the store keeps.
// docs/api.md shows each with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"
#include "control/vm.h"
#include "control/vm_change.h"

namespace paravane::control {

nlohmann::json to_json(const VmSpec& spec);
nlohmann::json to_json(const VmStatus& status);
// Of any two specifications that differ another one, but for chance (64 bits).
std::string revision_of(const VmSpec& spec);
nlohmann::json to_json(const VmChange& change);
nlohmann::json to_json(const AdapterRequest& request);

// Strict: unknown keys are refused and check_spec() holds afterwards. Without
// "adapters" there is one, with the "mac" and "protocol" of the VM itself: so does
// a request for the usual VM look, and what older versions stored.
// Errors: kInvalidArgument.
Result<VmSpec> vm_spec_from_json(const nlohmann::json& value);
// Strict; check_change() and check_mac() hold afterwards. Errors: kInvalidArgument.
Result<VmChange> vm_change_from_json(const nlohmann::json& value);
Result<AdapterRequest> adapter_request_from_json(const nlohmann::json& value);
// {"connected": true or false}. Strict. Errors: kInvalidArgument.
Result<bool> connected_from_json(const nlohmann::json& value);
// Lenient about unknown keys: the daemon may be newer than its client.
Result<VmStatus> vm_status_from_json(const nlohmann::json& value);

// To copy or to print a value takes stack for each level of it.
inline constexpr int kMaxJsonDepth = 32;

// Any text to a JSON value, with no exceptions. Errors: kInvalidArgument (not
// JSON, one key twice in an object, or more levels than kMaxJsonDepth).
Result<nlohmann::json> parse_json(std::string_view text);
// Never fails: bytes that are not UTF-8 are replaced.
std::string print_json(const nlohmann::json& value);

}  // namespace paravane::control
