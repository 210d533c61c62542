// RoceCounters: what one adapter's RoCE port has sent, received and refused.

#pragma once

#include "base/counter.h"

namespace paravane::transport_roce {

struct RoceCounters {
  CounterSet set;
  Counter packets_received{set, "packets_received", "packets received, of use or not"};
  Counter frames_refused{set, "frames_refused", "frames that are no valid RoCE packets"};
  Counter other_frames{set, "other_frames", "frames that are no RoCE packets"};
  Counter icrc_errors{set, "icrc_errors", "RoCE packets with a wrong invariant CRC"};
  Counter foreign_mac{set, "foreign_mac", "RoCE packets for another MAC address"};
  Counter unknown_qp{set, "unknown_qp",
                     "RoCE packets for a queue pair that does not exist, or is of another type"};
  Counter partition_mismatches{set, "partition_mismatches", "RoCE packets of another partition"};
  Counter forged_source{set, "forged_source", "RoCE packets that do not come from the peer"};
  Counter datagrams_dropped{set, "datagrams_dropped",
                            "datagrams that their queue pair did not take"};
  Counter duplicates{set, "duplicates", "packets of peers that had arrived before"};
  Counter out_of_order{set, "out_of_order", "packets of peers that arrived before earlier ones"};
  Counter naks_sent{set, "naks_sent", "negative acknowledgements sent"};
  Counter naks_received{set, "naks_received", "negative acknowledgements received"};
  Counter notices_sent{set, "congestion_notices_sent", "notifications of congestion sent"};
  Counter notices_received{set, "congestion_notices_received",
                           "notifications of congestion received"};
  Counter too_long{set, "too_long", "messages refused because the network's MTU is too small"};
  Counter timeouts{set, "timeouts", "retransmissions because no answer came in time"};
  Counter retransmitted{set, "retransmitted", "packets sent again"};
  Counter bad_responses{set, "bad_responses", "answers of peers that fit no request"};
  Counter probes_sent{set, "probes_sent", "probes of routers sent"};
  Counter probes_answered{set, "probes_answered", "answers to probes of routers received"};
  Counter bad_probe_answers{set, "bad_probe_answers", "answers that fit no probe"};
  Counter peer_probes_answered{set, "peer_probes_answered", "probes of other adapters answered"};
  Counter peer_probes_refused{set, "peer_probes_refused",
                              "probes not answered: from strangers, or too many"};
};

}  // namespace paravane::transport_roce
