// Handles GET /v1/events, which lists the events of this host and can wait for new ones. ApiHandler
// passes these requests on to this code.
//
// Any thread. Blocks while a request waits for an event, for at most kMostEventWait.

#pragma once

#include <chrono>

#include "api/api_handler.h"
#include "api/event_log.h"

namespace paravane::api {

inline constexpr const char* kEventsPath = "/v1/events";
inline constexpr std::chrono::seconds kMostEventWait{30};

ApiResponse handle_events_request(EventLog& events, const ApiRequest& request);

}  // namespace paravane::api
