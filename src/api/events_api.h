// GET /v1/events: lists events of this host, and waits for new ones.

#pragma once

#include <chrono>

#include "api/api_handler.h"
#include "api/event_log.h"

namespace paravane::api {

inline constexpr const char* kEventsPath = "/v1/events";
inline constexpr std::chrono::seconds kMostEventWait{30};

ApiResponse handle_events_request(EventLog& events, const ApiRequest& request);

}  // namespace paravane::api
