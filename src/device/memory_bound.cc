#include "device/memory_bound.h"

#include "device/queues/completion_queue.h"
#include "device/queues/notification_ring.h"
#include "device/queues/queue_pair.h"
#include "device/queues/shared_receive_queue.h"
#include "device/user_context.h"
#include "guestmem/page_list.h"
#include "verbs/connection.h"
#include "verbs/queue_pair.h"
#include "verbs/requester.h"
#include "verbs/responder.h"

namespace paravane::device {
namespace {

// One more allocation: what the allocator adds and rounds up to.
constexpr std::uint64_t kAllocation = 32;
// A number in a hash table, with its share of a table that has just doubled.
constexpr std::uint64_t kEntry = 80;
// A pointer in a vector that has just doubled.
constexpr std::uint64_t kPlace = 16;
// Around the runs and sources of a page list, which are the quota's.
constexpr std::uint64_t kListFiles = 2 * kAllocation + 16;

// Both halves of the engine's queue pair, what they share (verbs/queue_pair_impl.h), and a receive
// in hand.
constexpr std::uint64_t kEngineInside = sizeof(verbs::Requester) + sizeof(verbs::Responder) +
                                        sizeof(verbs::Connection) + sizeof(verbs::QpAttributes) +
                                        sizeof(verbs::ReceiveRequest) + kAllocation + 512;
// The device's half, the engine's, one slot of its window; its place in the tables of the
// device, the adapter, the fabric and the local path, and in its context's list.
constexpr std::uint64_t kPerQueuePair = sizeof(QueuePair) + sizeof(verbs::QueuePair) +
                                        kEngineInside + sizeof(verbs::SendRequest) +
                                        5 * kAllocation + kListFiles + 4 * kEntry + 4 * kPlace;
// With the first completion that is held back, which takes 700 bytes.
constexpr std::uint64_t kPerCompletionQueue =
    sizeof(CompletionQueue) + 640 + 3 * kAllocation + kListFiles + 2 * kEntry + 2 * kPlace;
constexpr std::uint64_t kPerSharedReceiveQueue =
    sizeof(SharedReceiveQueue) + 2 * kAllocation + kListFiles + kEntry + 4 * kPlace;
// With its place in the table of keys, and among the free ones.
constexpr std::uint64_t kPerRegion = sizeof(PageList) + 112 + kAllocation + kListFiles + 2 * kPlace;
constexpr std::uint64_t kPerDomain = 96 + 4 * kEntry;
// With its page of doorbells.
constexpr std::uint64_t kPerContext = sizeof(UserContext) + 4096 + kAllocation + 2 * kEntry;
constexpr std::uint64_t kPerGid = 4 * kEntry;

// Completions that all queues of a device hold back together (queues/completion_events.cc).
constexpr std::uint64_t kMostHeld = 65'536;
constexpr std::uint64_t kPerHeld = 96;
// Send requests of an adapter that wait for other hosts (verbs/requester.cc).
constexpr std::uint64_t kMostRequests = 8192;
// Both halves of a link, with a request each, and what was answered (verbs::PathState).
constexpr std::uint64_t kPerLink = 4096;
// The same of a connection with a native endpoint, which a queue pair whose path has changed has
// beside its link; and what is kept of each READ and atomic of the peer, to be answered again.
constexpr std::uint64_t kPerFlow = 4096;
constexpr std::uint64_t kPerPeersRead = 272;
// Kinds of asynchronous events that can wait of one queue pair.
constexpr std::uint64_t kKindsOfEvents = 8;
// Rings, counters, timers, buffers of the VMM's socket.
constexpr std::uint64_t kAdapter = std::uint64_t{4} << 20;

// Past the first ones only entries wait that are all different.
std::uint64_t waiting_bytes(std::uint64_t different) {
  return (NotificationRing::kMergeAbove + different) * (sizeof(std::uint64_t) + kEntry);
}

}  // namespace

MemoryBound memory_bound(const DeviceLimits& limits, std::uint64_t page_list_quota) {
  MemoryBound bound;
  bound.objects = limits.queue_pairs * kPerQueuePair +
                  limits.completion_queues * kPerCompletionQueue +
                  limits.shared_receive_queues * kPerSharedReceiveQueue +
                  limits.memory_regions * kPerRegion + limits.protection_domains * kPerDomain +
                  limits.contexts * kPerContext + limits.gids * kPerGid;
  bound.held_back =
      kMostHeld * kPerHeld +
      waiting_bytes(limits.queue_pairs * kKindsOfEvents + std::uint64_t{limits.completion_queues} +
                    2 * std::uint64_t{limits.shared_receive_queues}) +
      waiting_bytes(limits.completion_queues);
  bound.requests = kMostRequests * (sizeof(verbs::SendRequest) + kAllocation);
  bound.transports =
      limits.queue_pairs * (kPerLink + kPerFlow + limits.reads_outstanding * kPerPeersRead);
  // The runs of a registration exist twice while they are put together.
  bound.fixed = kAdapter + kMaxDirectoryPages * GuestMemory::kListBytesPerMappedPage / 2;
  bound.page_lists = page_list_quota;
  return bound;
}

}  // namespace paravane::device
