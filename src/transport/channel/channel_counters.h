// ChannelCounters is what a channel counts.
//
// Owner thread only; other threads receive copies of the values.

#pragma once

#include "base/counter.h"

namespace paravane::transport_channel {

struct ChannelCounters {
  CounterSet set;
  Counter sent_bytes{set, "sent_bytes", "payload bytes sent"};
  Counter received_bytes{set, "received_bytes", "payload bytes placed for peers"};
  Counter staged_bytes{set, "staged_bytes", "payload bytes that were buffered"};
  Counter records_sent{set, "records_sent", "records written"};
  Counter records_received{set, "records_received", "records read"};
  Counter datagrams_sent{set, "datagrams_sent", "datagrams sent"};
  Counter datagrams_received{set, "datagrams_received", "datagrams received"};
  Counter datagrams_held{set, "datagrams_held", "times a datagram had to wait for a full channel"};
  Counter voided{set, "voided",
                 "message fragments whose memory was unmapped while they were being sent"};
  Counter lane_sent_bytes{set, "lane_sent_bytes",
                          "payload bytes that an RDMA adapter has sent from guest memory"};
  Counter lane_received_bytes{set, "lane_received_bytes",
                              "payload bytes that an RDMA adapter has placed in guest memory"};
  Counter lanes_closed{set, "lanes_closed",
                       "times an RDMA adapter had to let go of guest memory, or failed to move it"};
  Counter longest_lane_close_us{
      set, "longest_lane_close_us",
      "longest time that an RDMA adapter took to let go of guest memory, in microseconds"};
  Counter damaged{set, "damaged", "message fragments received with a wrong digest"};
};

}  // namespace paravane::transport_channel
