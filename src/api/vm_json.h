// VMs, changes to VMs and requests for adapters as JSON, for the API and for the daemon's database.
// docs/api.md shows an example of each object.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "model/vm.h"
#include "model/vm_change.h"

namespace paravane::api {

nlohmann::json to_json(const model::VmSpec& spec);
nlohmann::json to_json(const model::VmStatus& status);
// A hash (64 bits) of a specification. Two specifications that differ have different hashes, except
// by chance.
std::string revision_of(const model::VmSpec& spec);
nlohmann::json to_json(const model::VmChange& change);
nlohmann::json to_json(const model::AdapterRequest& request);

// Refuses unknown keys, and values that check_spec() refuses. Without the key "adapters", the VM
// has one adapter, which is described by the keys "mac" and "protocol" of the VM. A request for a
// simple VM has this form, and older versions stored VMs in it. Errors: kInvalidArgument.
Result<model::VmSpec> vm_spec_from_json(const nlohmann::json& value);
// The same for a stored VM, which a newer version may have written. Ignores unknown keys. Errors:
// kInvalidArgument.
Result<model::VmSpec> kept_vm_spec_from_json(const nlohmann::json& value);
// Refuses unknown keys, and values that check_change() or check_mac() refuse. Errors:
// kInvalidArgument.
Result<model::VmChange> vm_change_from_json(const nlohmann::json& value);
Result<model::AdapterRequest> adapter_request_from_json(const nlohmann::json& value);
// Parses {"connected": true or false}. Refuses other keys. Errors: kInvalidArgument.
Result<bool> connected_from_json(const nlohmann::json& value);
// Ignores unknown keys, because the daemon may be newer than its client.
Result<model::VmStatus> vm_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
