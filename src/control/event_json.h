// Events as JSON, as docs/events.md describes them.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/event_log.h"

namespace paravane::control {

nlohmann::json to_json(const Event& event);
nlohmann::json to_json(const EventPage& page);
// Of an answer, perhaps of a newer daemon. Errors: kInvalidArgument.
Result<EventPage> event_page_from_json(const nlohmann::json& value);

}  // namespace paravane::control
