// Adapter is one RDMA adapter. It contains protection domains, memory regions, queue pairs and
// GIDs, and decides the order in which its queue pairs are served.
//
// It does not depend on PVRDMA. The guest's PVRDMA device uses it. A service of the host, such as
// IPoIB or SRP, could also use it.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/counter.h"
#include "base/instant.h"
#include "base/line.h"
#include "base/result.h"
#include "base/timers.h"
#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/events.h"
#include "verbs/fabric_port.h"
#include "verbs/gid_table.h"
#include "verbs/index_pool.h"
#include "verbs/life.h"
#include "verbs/memory_region.h"
#include "verbs/path_use.h"
#include "verbs/queue_pair.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

struct AdapterLimits {
  std::uint32_t queue_pairs = 16384;
  std::uint32_t memory_regions = 262144;
  std::uint32_t protection_domains = 65536;
  std::uint32_t gids = 128;
};

struct AdapterCounters {
  CounterSet set;
  Counter sends{set, "sends", "send requests completed"};
  Counter sent_bytes{set, "sent_bytes", "payload bytes sent or written to peers"};
  Counter receives{set, "receives", "peers' requests executed"};
  Counter received_bytes{set, "received_bytes", "payload bytes placed for peers"};
  Counter read_bytes{set, "read_bytes", "payload bytes read by peers"};
  Counter fetched_bytes{set, "fetched_bytes", "payload bytes returned by local reads and atomics"};
  Counter reads_answered{set, "reads_answered", "reads executed for peers"};
  Counter writes_answered{set, "writes_answered", "writes executed for peers"};
  Counter atomics_answered{set, "atomics_answered", "atomics executed for peers"};
  Counter duplicates{set, "duplicates", "duplicate requests answered again without execution"};
  Counter completion_errors{set, "completion_errors", "requests completed with an error"};
  Counter receive_errors{set, "receive_errors", "receives completed with an error"};
  Counter flushed{set, "flushed", "requests flushed"};
  Counter flushed_receives{set, "flushed_receives", "receives flushed"};
  Counter receives_missing{set, "receives_missing",
                           "messages from peers that arrived with no receive posted"};
  Counter length_errors{set, "length_errors",
                        "messages from peers that were longer than the receive"};
  Counter refused_access{set, "refused_access",
                         "local requests that failed with a remote access error"};
  Counter refused_requests{set, "refused_requests",
                           "local requests that failed as invalid at a peer"};
  Counter rnr_waits{set, "rnr_waits", "RNR NAKs received from peers"};
  Counter retries{set, "retries", "requests retried after a response timeout"};
  Counter remote_access_errors{set, "remote_access_errors", "remote accesses refused"};
  Counter remote_request_errors{set, "remote_request_errors", "invalid requests from peers"};
  Counter local_protection_errors{set, "local_protection_errors",
                                  "local requests with a bad lkey or range"};
  Counter malformed_requests{set, "malformed_requests", "invalid local requests"};
  Counter datagrams_dropped{set, "datagrams_dropped",
                            "datagrams dropped for lack of a posted receive"};
  Counter datagrams_unreachable{set, "datagrams_unreachable",
                                "local datagrams dropped for lack of a recipient"};
  Counter qkey_violations{set, "qkey_violations", "datagrams with a wrong Q_Key"};
};

class Observer;

class Adapter {
 public:
  // Everything handed in must outlive the adapter.
  Adapter(AdapterId id, const AdapterLimits& limits, GuestMemory& memory, TimerQueue& timers,
          FabricPort& fabric, QpEvents& events);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  AdapterId id() const { return id_; }

  // ---- Protection domains ----
  Result<PdNumber> create_pd();    // numbers < limits.protection_domains
  Status destroy_pd(PdNumber pd);  // kBadState while something is in it
  bool has_pd(PdNumber pd) const;
  // Above the numbers of all of them.
  std::size_t pd_end() const { return pds_.size(); }

  // ---- Memory regions ----
  MemoryRegionTable& regions() { return regions_; }

  // ---- Queue pairs, which the caller owns ---- Errors: kResourceExhausted, kNotFound (PD),
  // kBadState (number in use), kInvalidArgument (a number that the type cannot have: the GSI QP is
  // number 1, no other is below 2).
  Result<std::unique_ptr<QueuePair>> create_qp(const QueuePairSpec& spec);
  // The numbers that the adapter chooses come after this one. For an adapter that follows another
  // with the same address, whose peers may remember the numbers of its connections.
  void choose_numbers_after(std::uint32_t number) { qp_cursor_ = number & kQpNumberMask; }
  // nullptr: none, or the adapter is closed.
  QueuePair* find_qp(std::uint32_t number) const;
  std::uint32_t qp_count() const { return qp_count_; }
  // Calls act(QueuePair&) for each, in no particular order. It destroys none and creates none.
  template <typename Act>
  void for_each_qp(Act act) const {
    for (QueuePair* qp : qps_by_slot_) {
      if (qp != nullptr) act(*qp);
    }
  }

  // ---- GIDs ----
  // Overwriting is allowed; unbinding an empty index does nothing.
  // Errors: kOutOfRange (index), kBadState (another adapter owns it),
  // kInvalidArgument (it cannot be owned).
  Status bind_gid(std::uint32_t index, const Gid& gid, GidType type) {
    return gids_.bind(index, gid, type);
  }
  Status unbind_gid(std::uint32_t index) { return gids_.unbind(index); }
  using BoundGid = verbs::BoundGid;
  std::optional<BoundGid> gid(std::uint32_t index) const { return gids_.at(index); }
  const GidTable& gids() const { return gids_; }
  bool owns_gid(const Gid& gid, GidType type) const { return gids_.owns(gid, type); }

  // ---- Watching ---- nullptr: no observer. The observer outlives the adapter, or is removed
  // before it is destroyed.
  void set_observer(Observer* observer) { observer_ = observer; }
  Observer* observer() const { return observer_; }
  // Calls tell(Observer&) if there is an observer. Callers need not check.
  template <typename Tell>
  void observe(Tell tell) const {
    if (observer_ != nullptr) [[unlikely]]
      tell(*observer_);
  }

  // ---- Saved state (docs/state.md) ---- Without the queue pairs, which save themselves: their
  // owner creates them anew, with their numbers. REQUIRES of load(): the adapter is new. If the
  // state is refused, or there is std::bad_alloc, the adapter is of no use any more, and can be
  // destroyed.
  // `may_be`: what the owner allows of regions, beside that their protection domains exist.
  void save(state::Writer& out) const;
  void load(state::Reader& in, const RegionRule& may_be);
  // Whether the adapter has just been loaded. Channels to other hosts, the inventory and doors for
  // packets come a moment later. A request that finds no peer until then has not lost an answer: it
  // waits without spending a retry, for kSettling from the first run() on.
  static constexpr Duration kSettling = std::chrono::seconds(5);
  bool is_settling(Instant now) const { return now < settled_at_; }

  // ---- Before the end ---- While the adapter is closed, peers find no queue pair in it, its queue
  // pairs do not work, and no memory region is valid. So its objects can be destroyed in small
  // steps.
  void set_closed(bool closed) {
    closed_ = closed;
    regions_.set_closed(closed);
  }

  // ---- Work ---- Runs the queue pairs that were kicked (QueuePair::kick()), in turn, within
  // `budget`.
  void run(Instant now, Budget& budget);
  bool has_work() const { return !closed_ && !ready_.empty(); }

  const AdapterLimits& limits() const { return limits_; }
  GuestMemory& memory() { return memory_; }
  FabricPort& fabric() { return fabric_; }
  TimerQueue& timers() { return timers_; }
  QpEvents& events() { return events_; }
  AdapterCounters& counters() { return counters_; }
  // The paths that its connections (RC) use.
  PathUse& path_use() { return path_use_; }

 private:
  friend class QueuePair;
  friend class Requester;
  friend class Responder;

  struct PdEntry {
    bool exists = false;
    std::uint32_t queue_pairs = 0;
  };

  void schedule(QueuePair& qp, Line<QueuePair>::Place& place) { ready_.join(qp, place); }
  void forget(QueuePair& qp);
  Result<std::uint32_t> choose_number(const QueuePairSpec& spec);
  std::size_t slot_of(std::uint32_t number) const { return number & (qps_by_slot_.size() - 1); }

  const AdapterId id_;
  const AdapterLimits limits_;
  GuestMemory& memory_;
  TimerQueue& timers_;
  FabricPort& fabric_;
  QpEvents& events_;
  AdapterCounters counters_;
  PathUse path_use_;
  MemoryRegionTable regions_;
  GidTable gids_;
  IndexPool pd_numbers_;
  std::vector<PdEntry> pds_;             // by number
  std::vector<QueuePair*> qps_by_slot_;  // by the low bits of the number; a power of two
  std::uint32_t qp_count_ = 0;
  bool closed_ = false;
  std::uint32_t qp_cursor_ = 0;  // the last number chosen: numbers come back after 2^24 others
  Line<QueuePair> ready_;
  Observer* observer_ = nullptr;    // looked at for each message, with what follows
  std::uint64_t last_arrival_ = 0;  // of Responder, unique in this adapter for ever
  std::uint64_t last_serial_ = 0;   // of Requester, likewise
  std::uint64_t last_life_ = 0;     // of QueuePair, likewise
  Life first_life_;                 // of which others differ by their count
  std::uint32_t waiting_ = 0;       // requesters that wait for a timer
  std::uint32_t window_slots_ = 0;  // of requesters, beyond one each
  // Of responders whose state was loaded, beyond one each.
  std::uint32_t loaded_receives_ = 0;
  Instant settled_at_{};         // kNever: the adapter was loaded, and has not run yet
  ExtentList scratch_front_;     // for a datagram's header and payload, and what a responder
  ExtentList scratch_rest_;      // judges at once: no allocation per message
  SendRequest scratch_request_;  // that a requester has just taken
  // For the next receive that a responder takes; null: it allocates one.
  std::unique_ptr<ReceiveRequest> spare_receive_ = std::make_unique<ReceiveRequest>();
};

}  // namespace paravane::verbs
