// Responder is the half of a queue pair that acts on the requests of its peer.
//
// It checks a request once and completely before the first byte is copied. This check is in begin()
// or, for a message of one slice, in the first call of extents(). The transport then places the
// message slice by slice, through the Placement that begin() returns. Finally, the receive of the
// request is completed, unless the request is an RDMA operation without a receive. The checks
// follow the order of the specification. A refused request changes no memory.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/timers.h"
#include "guestmem/extent.h"
#include "verbs/absence.h"
#include "verbs/completion.h"
#include "verbs/done_memory.h"
#include "verbs/events.h"
#include "verbs/memory_region.h"
#include "verbs/placement.h"
#include "verbs/region_view.h"
#include "verbs/sge_walk.h"
#include "verbs/transport.h"
#include "verbs/types.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class Observer;
class QueuePair;

// A peer's request, as a value. If it came from a network, it was parsed and its sizes were
// checked; the responder checks everything else.
struct RemoteRequest {
  WrOpcode opcode = WrOpcode::kSend;
  bool solicited = false;
  std::uint32_t source_qpn = 0;
  std::uint64_t remote_addr = 0;
  std::uint32_t rkey = 0;  // also: the key to invalidate
  std::uint64_t length = 0;
  Immediate imm{};
  std::uint64_t compare_add = 0;  // atomics
  std::uint64_t swap = 0;
  std::uint64_t serial = 0;  // of the requester's: a retry has the same
};

// How a transport asks for the extents of a message of one slice.
enum class Arrives : std::uint8_t {
  kAtOnce,     // straight after begin(): they are judged then
  kInPieces,   // when bytes have come, later: begin() judges them too, so that the peer hears
               // of a wrong key before it has sent its bytes
  kByLane,     // as kInPieces, and an RDMA adapter places them (extents_ahead())
  kInPackets,  // as kInPieces, and the end of the message is told to Placement::finish()
};

class Responder {
 public:
  explicit Responder(QueuePair& qp) : qp_(qp) {}
  ~Responder() { end_placement(); }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  QueuePair& queue_pair() const { return qp_; }

  // An error is the response to the peer; this side has already handled it (error completion of the
  // receive, asynchronous event, ERR). Ends a placement that was in progress.
  std::expected<Placement, Outcome> begin(const RemoteRequest& request, Arrives arrives);
  // A Placement is alive.
  bool busy() const { return placement_ != nullptr; }

  // For transports that send the response to a READ while later requests are executed. After the
  // placement of `read` was finished, finds the memory of bytes [offset, offset+length) at this
  // moment. Results as Placement::extents().
  Outcome read_extents(const RemoteRequest& read, std::uint64_t offset, std::uint64_t length,
                       ExtentList& out);

  // For transports that let an RDMA adapter place messages before their turn. Finds the memory of
  // bytes [offset, offset+length) of a message that comes after the placement, and after `receives`
  // other messages that consume a receive. The whole message is judged with its first byte. False:
  // begin() decides when its turn has come. A receive that was taken stays for its message.
  bool extents_ahead(const RemoteRequest& request, std::uint32_t receives, Stretch stretch,
                     ExtentList& out);
  // Memory of the peer's messages that was lent for that, and returned. A request that comes by
  // another path is not executed before all of it is returned.
  void note_lent() { ++lent_; }
  void note_returned() { --lent_; }

  // The memory of this adapter failed during a copy.
  Outcome memory_failed();

  // For transports that work with packets: the peer's packets break the rules of their order or
  // size (IBTA 9.7.4.1). Handles it as begin() handles an invalid request, and returns the response
  // to the peer.
  Outcome refuse_packets() {
    return refuse(WcStatus::kRemoteInvalidRequest, QpEvent::kRequestError);
  }

  // Delivers one datagram. False: the state, the Q_Key or the receive did not permit that, so it
  // was dropped and counted.
  bool datagram(const DatagramSource& source, const SendRequest& request,
                const ExtentList& payload);
  bool datagram(const DatagramSource& source, const SendRequest& request,
                std::span<const std::byte> payload);

  // Begins a datagram whose payload is placed while it arrives. It keeps its own receive until
  // end_arrival(), while other datagrams are delivered. Returns a number that identifies it and
  // that its adapter never uses again; 0: it is dropped, as above.
  std::uint64_t begin_arrival(const DatagramSource& source, const SendRequest& request,
                              std::uint64_t bytes);
  // Finds the memory for bytes [offset, offset+length) of the payload. False: the payload has no
  // memory there, or none any more, and what was appended to `out` is unspecified.
  bool arrival_extents(std::uint64_t arrival, std::uint64_t offset, std::uint64_t length,
                       ExtentList& out);
  // Completes the datagram if `is_whole`; otherwise its receive can be used by others again.
  void end_arrival(std::uint64_t arrival, bool is_whole);

  // What was executed for the peer, whatever transport it came over. Throws std::bad_alloc.
  DoneMemory& done() { return rare().done; }

  // Whether a peer's requests are answered at all in this state.
  bool listens() const;

  // ---- For the fast path (fast_path.h) ----

  // Whether requests can be executed without a Placement: nothing is in progress, and the queue
  // pair has heard from its peer before.
  bool takes_directly() const;
  // The rights that a write, a read or an atomic of the peer's may use at all: what begin() judges
  // before it looks at a key.
  AccessMask direct_rights() const;
  // Takes a receive for a message of this length, and returns its memory; nullopt: begin() decides.
  // The receive is then the next one for any message. REQUIRES: the receive completion queue's
  // reveal() follows in the same turn.
  std::optional<Extent> receive_directly(std::uint64_t length, RegionView& view);
  // The bytes of the request are in place: counts it and completes its receive.
  Outcome deliver(const RemoteRequest& request, Reveal when);
  // Counts requests of one kind that were executed, with these bytes together.
  void count(WrOpcode opcode, std::uint64_t bytes, std::uint64_t requests = 1);

  // ---- For fast datagrams (fast_datagrams.h) ----

  // Whether the state and the Q_Key let a datagram of `source` in; receive_directly() follows.
  bool takes_datagram_directly(const DatagramSource& source) const;
  // Completes the receive in hand, or drops the datagram if its bytes could not be placed.
  void end_datagram(bool placed, const DatagramSource& source, const SendRequest& request,
                    std::uint64_t bytes, Reveal when = Reveal::kNow);

  // ---- For the queue pair ----

  // Completes posted receives as flushed. True: there may be more to do now.
  bool flush(Instant now, Budget& budget);
  // Whether a peer was told that no receive is posted, and has not sent its request again.
  bool peer_waits() const { return peer_waits_; }
  // True: a receive is posted now, and the peer no longer waits. The receive is not taken, because
  // in a shared receive queue another queue pair may get it.
  bool take_wakeup();

  // Whether receives were taken that no message has completed.
  bool has_taken() const {
    return receive_ != nullptr || (rare_ != nullptr && !rare_->taken.empty());
  }

  // For ERR: ends all requests of peers that are in progress.
  void stop();
  // For RESET and destruction: forgets all requests.
  void reset();

  // The receives that were taken, and what was executed (docs/state.md). A request that is being
  // placed comes again, and so does a datagram that is arriving, or it is lost.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  friend class Placement;  // a request's calls, while it is in progress

  Outcome extents(std::uint64_t offset, std::uint64_t length, ExtentList& out);
  Outcome atomic(std::uint64_t& before);
  Outcome finish();
  Outcome finish(const MessageEnd& end);
  void end_placement() {
    if (placement_ != nullptr) placement_->responder_ = nullptr;
    placement_ = nullptr;
  }

  Outcome judge();
  Outcome judge_first_slice();
  Outcome judge_receive();
  Outcome judge_invalidation();
  Outcome judge_growth(std::uint64_t end);
  Outcome take_end(const MessageEnd& end);
  Outcome refuse_length();
  Outcome judge_key();
  // kDone: a receive is in hand.
  Outcome want_receive(WrOpcode opcode);
  // Where a stretch of the message goes, or comes from.
  AccessVerdict find_bytes(const RemoteRequest& request, Stretch stretch, ExtentList& out) const;
  Outcome answer_to(AccessVerdict verdict, WrOpcode opcode);
  Outcome refuse(WcStatus status, QpEvent event);
  Outcome fail_receive(WcStatus ours, WcStatus peers);
  // REQUIRES: has_taken().
  void take_in_hand();
  // Finds the receive for a message that comes after the placement; nullptr: no receive is posted.
  const ReceiveRequest* receive_ahead(std::uint32_t index);
  // Takes a receive from its source. kTaken: it is in hand. Throws std::bad_alloc without a change.
  using Take = WorkSource::Fetch (WorkSource::*)(ReceiveRequest& out);
  WorkSource::Fetch fetch_receive(Take take = &WorkSource::take_receive);
  // The receive in hand is over. Returns its wr_id.
  std::uint64_t let_receive_go();
  Completion completion_of(std::uint64_t wr_id, WcStatus status) const;
  PdNumber receive_pd() const;
  void complete_flushed(Budget& budget);
  void flush_shared(Budget& budget);
  void wait_for_ring(Instant now);
  bool fits_datagram(const DatagramSource& source, std::uint64_t payload_bytes);
  AccessVerdict find_datagram_bytes(std::uint64_t payload_bytes);
  bool begin_datagram(const DatagramSource& source, const SendRequest& request,
                      std::uint64_t bytes);
  void complete_datagram(const DatagramSource& source, const SendRequest& request,
                         std::uint64_t bytes, const ReceiveRequest& receive, Reveal when);
  void drop_datagram(const DatagramSource& source, const SendRequest& request, std::uint64_t bytes);

  // To the adapter's observer, within Adapter::observe().
  void tell_refusal(Observer& observer, const RemoteRequest& request, const Outcome& outcome);
  void tell_placed(Observer& observer);
  void tell_answer(Observer& observer, const Outcome& outcome);
  void tell_datagram(Observer& observer, const DatagramSource& source, const SendRequest& request,
                     std::uint64_t bytes, const ReceiveRequest& receive);
  void tell_dropped(Observer& observer, const DatagramSource& source, const SendRequest& request,
                    std::uint64_t bytes);

  // A datagram that is arriving, and the receive that it goes to.
  struct Arrival {
    std::uint64_t name = 0;
    DatagramSource source;
    SendRequest request;
    std::uint64_t bytes = 0;
    std::unique_ptr<ReceiveRequest> receive;
  };
  Arrival* find_arrival(std::uint64_t name);

  // What is not needed on the fast path: most queue pairs never need it. Allocated when they do,
  // and kept until reset().
  struct Rare {
    RemoteRequest request;          // that begin() has judged last
    DoneMemory done;                // of atomics at most max_dest_reads
    std::vector<Arrival> arrivals;  // at most one for each channel
    // Taken, and for the next messages: of arrivals that came to nothing, and of messages whose
    // memory was lent before their turn.
    std::vector<std::unique_ptr<ReceiveRequest>> taken;
  };
  Rare& rare();
  // REQUIRES: begin() was called since reset().
  RemoteRequest& placed() { return rare_->request; }

  QueuePair& qp_;
  Placement* placement_ = nullptr;  // of placed(); it points back
  // In hand: taken and not completed. A receive takes 540 bytes, so it comes from the adapter,
  // which keeps one for its next responder.
  std::unique_ptr<ReceiveRequest> receive_;
  std::uint32_t lent_ = 0;
  bool ring_dead_ = false;  // until reset()
  bool peer_waits_ = false;
  bool told_last_ = false;   // of kLastReceiveReached; until reset()
  bool in_packets_ = false;  // placed() lacks what its MessageEnd brings
  TimerId flush_timer_ = TimerId::kNone;
  Absence ring_absence_;
  std::unique_ptr<Rare> rare_;
};

// Here, where a Responder is complete: both are within each message's way.
inline Placement::Placement(Key /*key*/, Responder& responder) : responder_(&responder) {
  responder.placement_ = this;
}

inline Placement::Placement(Placement&& other) noexcept
    : responder_(std::exchange(other.responder_, nullptr)) {
  if (responder_ != nullptr) responder_->placement_ = this;
}

}  // namespace paravane::verbs
