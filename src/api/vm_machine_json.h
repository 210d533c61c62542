// The virtual hardware of a VM (VmMachine), and changes to it, as JSON. docs/api.md describes it as
// the object "machine" of a VM.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/vm_machine.h"

namespace paravane::api {

nlohmann::json to_json(const model::VmMachine& machine);
nlohmann::json to_json(const model::VmMachineChange& change);

enum class UnknownKeys : std::uint8_t { kRefused, kIgnored };
// Every key is optional. Values are not checked here, but by check_machine(). Errors:
// kInvalidArgument.
Result<model::VmMachineChange> machine_change_from_json(const nlohmann::json& value,
                                                        UnknownKeys unknown);

}  // namespace paravane::api
