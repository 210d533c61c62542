// VMs as JSON, as the API receives and returns them and as the store keeps them. docs/api.md shows
// each with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "model/vm.h"
#include "model/vm_change.h"

namespace paravane::api {

nlohmann::json to_json(const model::VmSpec& spec);
nlohmann::json to_json(const model::VmStatus& status);
// Of any two specifications that differ another one, but for chance (64 bits).
std::string revision_of(const model::VmSpec& spec);
nlohmann::json to_json(const model::VmChange& change);
nlohmann::json to_json(const model::AdapterRequest& request);

// Strict: unknown keys are refused and check_spec() holds afterwards. Without
// "adapters" there is one, with the "mac" and "protocol" of the VM itself: so does
// a request for the usual VM look, and what older versions stored.
// Errors: kInvalidArgument.
Result<model::VmSpec> vm_spec_from_json(const nlohmann::json& value);
// The same as kept by a program that may be newer: unknown keys are passed by.
// Errors: kInvalidArgument.
Result<model::VmSpec> kept_vm_spec_from_json(const nlohmann::json& value);
// Strict; check_change() and check_mac() hold afterwards. Errors: kInvalidArgument.
Result<model::VmChange> vm_change_from_json(const nlohmann::json& value);
Result<model::AdapterRequest> adapter_request_from_json(const nlohmann::json& value);
// {"connected": true or false}. Strict. Errors: kInvalidArgument.
Result<bool> connected_from_json(const nlohmann::json& value);
// Lenient about unknown keys: the daemon may be newer than its client.
Result<model::VmStatus> vm_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
