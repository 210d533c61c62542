// GET /v1/events: what happened on this host, and waiting for more.

#pragma once

#include <chrono>

#include "control/api_handler.h"
#include "control/event_log.h"

namespace paravane::control {

inline constexpr const char* kEventsPath = "/v1/events";
inline constexpr std::chrono::seconds kMostEventWait{30};

ApiResponse handle_events_request(EventLog& events, const ApiRequest& request);

}  // namespace paravane::control
