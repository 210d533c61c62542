// Switches and port groups as JSON, as the API receives and returns them and as the store keeps
// them. docs/api.md shows each with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/distributed_switch.h"

namespace paravane::api {

nlohmann::json to_json(const model::DistributedSwitch& vds);
nlohmann::json to_json(const model::PortGroup& group);
nlohmann::json to_json(const model::SwitchHost& host);
nlohmann::json to_json(const model::SwitchStatus& status);
nlohmann::json to_json(const model::PortGroupStatus& status);
nlohmann::json to_json(const model::SwitchRepair& repair);

// Strict: unknown keys are refused and the value's own check holds afterwards.
// Errors: kInvalidArgument.
Result<model::DistributedSwitch> switch_from_json(const nlohmann::json& value);
Result<model::PortGroup> port_group_from_json(const nlohmann::json& value);
Result<model::SwitchHost> switch_host_from_json(const nlohmann::json& value);
// As kept by a program that may be newer: unknown keys are passed by; the value's own check
// holds. Errors: kInvalidArgument.
Result<model::DistributedSwitch> kept_switch_from_json(const nlohmann::json& value);
Result<model::PortGroup> kept_port_group_from_json(const nlohmann::json& value);
// {"uplink": "eth1"} or {"uplink": ""}.
Result<std::string> uplink_from_json(const nlohmann::json& value);
// {"mtu": 9000}.
Result<std::uint32_t> mtu_from_json(const nlohmann::json& value);

// Lenient about unknown keys: the daemon may be newer than its client.
Result<model::SwitchStatus> switch_status_from_json(const nlohmann::json& value);
Result<model::PortGroupStatus> port_group_status_from_json(const nlohmann::json& value);
Result<model::SwitchRepair> switch_repair_from_json(const nlohmann::json& value);

}  // namespace paravane::api
