// ServerCounters: the clients and requests of a served device, and those that were refused.
//
// Owner thread only.

#pragma once

#include "base/counter.h"

namespace paravane::nbd {

struct ServerCounters {
  CounterSet set;
  Counter connections{set, "connections", "clients that connected"};
  Counter opened{set, "opened", "clients that got the device"};
  Counter reads{set, "reads", "read requests"};
  Counter read_bytes{set, "read_bytes", "bytes sent to clients as payload of reads"};
  Counter writes{set, "writes", "write requests"};
  Counter written_bytes{set, "written_bytes", "bytes received from clients as payload of writes"};
  Counter flushes{set, "flushes", "flush requests"};
  Counter trims{set, "trims", "trim requests"};
  Counter zeroes{set, "zeroes", "write zeroes requests"};
  Counter most_requests{set, "most_requests", "most requests of a client at once"};
  Counter failed_requests{set, "failed_requests", "requests that the device failed"};
  Counter bad_memory{set, "bad_memory", "payloads that were lost because their memory failed"};
  // ---- Refused ----
  Counter too_many_connections{set, "too_many_connections",
                               "clients that were refused because too many were connected"};
  Counter in_use{set, "in_use", "clients that were refused the device because another one uses it"};
  Counter refused_options{set, "refused_options", "options of handshakes that were refused"};
  Counter refused_requests{set, "refused_requests", "requests that were refused unasked"};
  Counter odd_requests{set, "odd_requests", "refused requests that a correct client never sends"};
  Counter broken_rules{set, "broken_rules",
                       "connections that ended because the client broke the protocol"};
  Counter timeouts{set, "timeouts", "connections that ended because the client was silent"};
};

}  // namespace paravane::nbd
