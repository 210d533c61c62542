// CommunicationCounters: the messages of a connection manager, and what became of those that it did
// not use. The thread of the manager only.

#pragma once

#include "base/counter.h"

namespace paravane::connection {

struct CommunicationCounters {
  CounterSet set;
  Counter requests_sent{set, "requests_sent", "connections that were asked for"};
  Counter messages_sent{set, "messages_sent", "messages of the connection manager that were sent"};
  Counter messages_repeated{set, "messages_repeated",
                            "messages that were sent again, since no answer came"};
  Counter not_sent{set, "not_sent", "messages that the port had no room for"};
  Counter messages_received{set, "messages_received",
                            "datagrams that arrived for the connection manager"};
  Counter replies{set, "replies", "peers that agreed to a connection"};
  Counter rejections{set, "rejections", "connections that a peer rejected"};
  Counter time_outs{set, "time_outs", "requests for a connection that no peer answered"};
  Counter waits{set, "waits", "times that a peer asked for more time"};
  Counter disconnected_by_peer{set, "disconnected_by_peer", "connections that the peer ended"};
  Counter disconnects_unanswered{set, "disconnects_unanswered",
                                 "connections that ended here without the peer's answer"};
  Counter most_connections{set, "most_connections", "the most connections at once"};
  // ---- Messages that were passed over ----
  Counter bad_headers{
      set, "bad_headers",
      "datagrams of another version, class or method, or with an unknown attribute"};
  Counter strangers_requests{set, "strangers_requests",
                             "requests of other nodes for a connection with this one"};
  Counter unanswered_floods{set, "unanswered_floods",
                            "messages of strangers without an answer, since too many came"};
  Counter unknown_connections{set, "unknown_connections",
                              "messages for a connection that is not there"};
  Counter foreign_senders{set, "foreign_senders",
                          "messages for a connection from an address that is not the peer's"};
  Counter wrong_names{set, "wrong_names",
                      "messages whose communication IDs or queue pair are not the connection's"};
  Counter wrong_states{set, "wrong_states", "messages that the connection's state does not allow"};
  Counter impossible_values{set, "impossible_values",
                            "replies with a queue pair that cannot be connected"};
  Counter duplicates{set, "duplicates", "messages that came again"};
};

}  // namespace paravane::connection
