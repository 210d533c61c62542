// Virtual InfiniBand adapters of a host and its part of the subnet as JSON, for the API and for the
// daemon's database. docs/api.md describes the format.
//
// GUIDs and partition keys are strings in hexadecimal, as InfiniBand's tools print them: many JSON
// readers round a number of 64 bits, and 32778 hides that a key is 0x800a.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/infiniband.h"

namespace paravane::api {

nlohmann::json to_json(const model::IbAdapter& adapter);
nlohmann::json to_json(const model::IbAdapterStatus& status);
nlohmann::json to_json(const model::IbPort& port);
nlohmann::json to_json(const model::IbUplink& uplink);
nlohmann::json to_json(const model::IbUplinkPartition& partition);
nlohmann::json to_json(const model::IbFabric& fabric);
nlohmann::json to_json(const model::IbLink& link);
nlohmann::json to_json(const model::IbManager& manager);

// Parses a request. Refuses unknown keys and invalid values. Errors: kInvalidArgument.
Result<model::IbAdapter> ib_adapter_from_json(const nlohmann::json& value);
Result<model::IbManager> new_ib_manager_from_json(const nlohmann::json& value);

// Parses a stored value, which a newer version may have written. Ignores unknown keys and refuses
// invalid values. Errors: kInvalidArgument.
Result<model::IbAdapter> kept_ib_adapter_from_json(const nlohmann::json& value);

// Parses a response. Errors: kInvalidArgument.
Result<model::IbAdapterStatus> ib_adapter_status_from_json(const nlohmann::json& value);
Result<model::IbPort> ib_port_from_json(const nlohmann::json& value);
Result<model::IbUplink> ib_uplink_from_json(const nlohmann::json& value);
Result<model::IbUplinkPartition> ib_uplink_partition_from_json(const nlohmann::json& value);
Result<model::IbFabric> ib_fabric_from_json(const nlohmann::json& value);
Result<model::IbLink> ib_link_from_json(const nlohmann::json& value);
Result<model::IbManager> ib_manager_from_json(const nlohmann::json& value);

}  // namespace paravane::api
