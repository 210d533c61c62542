// The pause frames and the Data Center Bridging of a NIC as JSON, for the API and the messages
// between the daemon's two processes. docs/api.md shows an example of each object.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/result.h"
#include "json/json_reader.h"
#include "model/nic_dcb.h"
#include "model/nic_pause.h"

namespace paravane::api {

// null: the driver reports none.
nlohmann::json to_json(const std::optional<model::NicPause>& pause);
// Notes in `reader` what is wrong with the value of `key`.
std::optional<model::NicPause> read_pause(JsonReader& reader, const char* key);

// The priorities of the bits that are set, as an array of numbers; null: not reported.
nlohmann::json priorities_json(const std::optional<std::uint8_t>& priorities);
std::optional<std::uint8_t> read_priorities(JsonReader& reader, const char* key);

nlohmann::json to_json(const model::NicDcb& dcb);
// Ignores unknown keys. Errors: kInvalidArgument.
Result<model::NicDcb> nic_dcb_from_json(const nlohmann::json& value);

}  // namespace paravane::api
