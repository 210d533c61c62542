// Holdings: lists the objects that one owner has created on a device. An owner is a process of the
// guest or the guest's kernel. The lists do not own the objects; the tables in objects.h do.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/line.h"

namespace paravane::device {

class CompletionQueue;
class QueuePair;
class SharedReceiveQueue;

// A protection domain. Its memory regions are in the table of the RDMA engine.
struct Domain {
  std::uint32_t number = 0;
  std::uint32_t context = 0;
  std::uint32_t shared_receive_queues = 0;
  Line<Domain>::Place place{};  // in its owner's holdings
};

struct Holdings {
  std::vector<QueuePair*> queue_pairs{};                     // each queue pair knows its position
  std::vector<SharedReceiveQueue*> shared_receive_queues{};  // each queue knows its position
  Line<CompletionQueue> completion_queues{};
  Line<Domain> protection_domains{};

  bool empty() const {
    return queue_pairs.empty() && shared_receive_queues.empty() && completion_queues.empty() &&
           protection_domains.empty();
  }
};

}  // namespace paravane::device
