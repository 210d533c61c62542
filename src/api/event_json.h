// Events as JSON, in the format described in docs/events.md.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/event_log.h"
#include "base/result.h"

namespace paravane::api {

nlohmann::json to_json(const model::Event& event);
nlohmann::json to_json(const EventPage& page);
// Of an answer, perhaps of a newer daemon. Errors: kInvalidArgument.
Result<EventPage> event_page_from_json(const nlohmann::json& value);

}  // namespace paravane::api
