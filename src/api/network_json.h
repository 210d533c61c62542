// Distributed switches and port groups as JSON, for the API and for the daemon's database.
// docs/api.md shows an example of each object.
//
// Stateless, any thread.

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
nlohmann::json to_json(const model::PortGroupChange& change);
nlohmann::json to_json(const model::SwitchHost& host);
nlohmann::json to_json(const model::SwitchStatus& status);
nlohmann::json to_json(const model::PortGroupStatus& status);
nlohmann::json to_json(const model::SwitchRepair& repair);

// Refuses unknown keys and invalid values. Errors: kInvalidArgument.
Result<model::DistributedSwitch> switch_from_json(const nlohmann::json& value);
Result<model::PortGroup> port_group_from_json(const nlohmann::json& value);
Result<model::SwitchHost> switch_host_from_json(const nlohmann::json& value);
// Parses a stored value, which a newer version may have written. Ignores unknown keys and refuses
// invalid values. Errors: kInvalidArgument.
Result<model::DistributedSwitch> kept_switch_from_json(const nlohmann::json& value);
Result<model::PortGroup> kept_port_group_from_json(const nlohmann::json& value);
// Parses {"uplink": "eth1"}, {"uplink": "eth1", "standby": ["eth2"]} or {"uplink": ""}. The host's
// name is empty.
Result<model::SwitchHost> uplinks_from_json(const nlohmann::json& value);
// Parses {"mtu": 9000}.
Result<std::uint32_t> mtu_from_json(const nlohmann::json& value);
// Parses {"roce": "native"}, {"routed": "on"} or both.
Result<model::PortGroupChange> port_group_change_from_json(const nlohmann::json& value);

// Ignores unknown keys, because the daemon may be newer than its client.
Result<model::SwitchStatus> switch_status_from_json(const nlohmann::json& value);
Result<model::PortGroupStatus> port_group_status_from_json(const nlohmann::json& value);
Result<model::SwitchRepair> switch_repair_from_json(const nlohmann::json& value);

}  // namespace paravane::api
