// Events as JSON. docs/events.md describes the format.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/event_log.h"
#include "base/result.h"

namespace paravane::api {

nlohmann::json to_json(const model::Event& event);
nlohmann::json to_json(const EventPage& page);
// Parses a response, which may come from a newer daemon. Errors: kInvalidArgument.
Result<EventPage> event_page_from_json(const nlohmann::json& value);

}  // namespace paravane::api
