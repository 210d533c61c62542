// ServerCounters counts what one vfio-user server has received from VMMs, and what it has refused.

#pragma once

#include "base/counter.h"

namespace paravane::vfio_user {

struct ServerCounters {
  CounterSet set;
  Counter messages{set, "vfio_user_messages", "vfio-user messages received"};
  Counter bar_reads{set, "bar_reads", "trapped BAR reads"};
  Counter bar_writes{set, "bar_writes", "trapped BAR writes"};
  Counter posted_writes{set, "posted_writes", "posted BAR writes (the VMM did not wait)"};
  Counter config_accesses{set, "config_accesses", "config space reads and writes"};
  Counter dropped_accesses{set, "dropped_accesses",
                           "accesses outside any region, answered as on a PCI bus"};
  Counter dma_maps{set, "dma_maps", "DMA ranges mapped"};
  Counter dma_unmaps{set, "dma_unmaps", "DMA ranges unmapped"};
  Counter dma_map_errors{set, "dma_map_errors", "DMA ranges that could not be mapped"};
  Counter protocol_errors{set, "protocol_errors", "requests refused with an error"};
  Counter posted_errors{set, "posted_errors", "posted requests refused without a reply"};
  Counter late_answers{set, "late_answers", "replies that took more than a second"};
  Counter broken_connections{set, "broken_connections",
                             "connections closed because of a malformed message"};
  Counter refused_clients{set, "refused_clients", "clients refused while another was attached"};
  Counter attaches{set, "attaches", "VMM attachments"};
  Counter resets{set, "device_resets", "device resets by the VMM or the guest"};
};

}  // namespace paravane::vfio_user
