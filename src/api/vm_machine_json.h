// VmMachine as JSON: the object "machine" of a VM (docs/api.md), and changes of it.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/vm_machine.h"

namespace paravane::api {

nlohmann::json to_json(const model::VmMachine& machine);
nlohmann::json to_json(const model::VmMachineChange& change);

enum class UnknownKeys : std::uint8_t { kRefused, kIgnored };
// Every key may be left out. What values may be is not judged: check_machine().
// Errors: kInvalidArgument.
Result<model::VmMachineChange> machine_change_from_json(const nlohmann::json& value,
                                                        UnknownKeys unknown);

}  // namespace paravane::api
