// Responder: the half of a queue pair that acts on a peer's request.
//
// A request is checked once and completely before its first byte moves (by begin(), and by the
// first extents for a message of one slice). The transport then places it slice by slice, through
// the Placement that begin() returns. Finally it becomes visible: a receive is taken and
// completed, or only the bytes appear. The checks follow the order of the specification. A request
// that begin() refused has placed no byte.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/timers.h"
#include "guestmem/extent.h"
#include "verbs/absence.h"
#include "verbs/completion.h"
#include "verbs/events.h"
#include "verbs/memory_region.h"
#include "verbs/placement.h"
#include "verbs/sge_walk.h"
#include "verbs/transport.h"
#include "verbs/types.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class Observer;
class QueuePair;

// A peer's request, by value. From a network it has been parsed and bounded;
// what it means is judged here.
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
  kAtOnce,    // straight after begin(): they are judged then
  kInPieces,  // when bytes have come, later: begin() judges them too, so that the peer hears
              // of a wrong key before it has sent its bytes
};

class Responder {
 public:
  explicit Responder(QueuePair& qp) : qp_(qp) {}
  ~Responder() { end_placement(); }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // An error is the answer to the peer, and this side has drawn its own conclusions
  // (error completion of the receive, async event, ERR). Ends a placement that was in
  // progress.
  std::expected<Placement, Outcome> begin(const RemoteRequest& request, Arrives arrives);
  // A Placement is alive.
  bool busy() const { return placement_ != nullptr; }

  // For transports that answer a READ while later requests are carried out: after its
  // placement was finished, where bytes [offset, offset+length) of what `read` asks for lie
  // at this moment. As Placement::extents().
  Outcome read_extents(const RemoteRequest& read, std::uint64_t offset, std::uint64_t length,
                       ExtentList& out);

  // This adapter's memory failed under a copy.
  Outcome memory_failed();

  // One datagram; dropped and counted when it does not fit the state, the Q_Key
  // or the receive.
  void datagram(const DatagramSource& source, const SendRequest& request,
                const ExtentList& payload);
  void datagram(const DatagramSource& source, const SendRequest& request,
                std::span<const std::byte> payload);

  // One whose payload is placed as it arrives. It has a receive of its own from the
  // beginning to the end; between them others come and go. 0: it is dropped, as above;
  // else its name here, unique in this adapter for ever.
  std::uint64_t begin_arrival(const DatagramSource& source, const SendRequest& request,
                              std::uint64_t bytes);
  // Where bytes [offset, offset+length) of its payload go. False: nowhere (any more), and
  // what was appended to `out` is unspecified.
  bool arrival_extents(std::uint64_t arrival, std::uint64_t offset, std::uint64_t length,
                       ExtentList& out);
  // All of it is in place; or else its receive is free for others again.
  void end_arrival(std::uint64_t arrival, bool is_whole);

  // Whether a peer's requests are answered at all in this state.
  bool listens() const;

  // ---- For the queue pair ----

  // Completes posted receives as flushed. True: there may be more to do now.
  bool flush(Instant now, Budget& budget);
  // A peer was told that there is no receive, and has not come again.
  bool peer_waits() const { return peer_waits_; }
  // True: there is a receive now, and the peer no longer waits. It is not taken: of a
  // shared receive queue it may be for another queue pair.
  bool take_wakeup();

  // For ERR: whatever a peer has under way here is at its end.
  void stop();
  // For RESET and the end of the queue pair: forgets everything.
  void reset();

 private:
  friend class Placement;  // a request's calls, while it is in progress

  Outcome extents(std::uint64_t offset, std::uint64_t length, ExtentList& out);
  Outcome atomic(std::uint64_t& before);
  Outcome finish();
  void end_placement() {
    if (placement_ != nullptr) placement_->responder_ = nullptr;
    placement_ = nullptr;
  }

  Outcome judge();
  Outcome judge_first_slice();
  Outcome judge_receive();
  Outcome judge_key();
  // kDone: a receive is in hand.
  Outcome want_receive();
  // Where a stretch of the message goes, or comes from.
  AccessVerdict find_bytes(const RemoteRequest& request, Stretch stretch, ExtentList& out) const;
  Outcome answer_to(AccessVerdict verdict, WrOpcode opcode);
  Outcome deliver();
  Outcome refuse(WcStatus status, QpEvent event);
  Outcome fail_receive(WcStatus ours, WcStatus peers);
  bool has_taken() const { return has_receive_ || !given_back_.empty(); }
  // REQUIRES: has_taken().
  void take_in_hand();
  Completion completion_of(const ReceiveRequest& receive, WcStatus status) const;
  PdNumber receive_pd() const;
  void complete_flushed(Budget& budget);
  void flush_shared(Budget& budget);
  void wait_for_ring(Instant now);
  bool fits_datagram(const DatagramSource& source, std::uint64_t payload_bytes);
  bool begin_datagram(const DatagramSource& source, const SendRequest& request,
                      std::uint64_t bytes);
  void end_datagram(bool placed, const DatagramSource& source, const SendRequest& request,
                    std::uint64_t bytes);
  void complete_datagram(const DatagramSource& source, const SendRequest& request,
                         std::uint64_t bytes, const ReceiveRequest& receive);
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
    std::uint64_t name;
    DatagramSource source;
    SendRequest request;
    std::uint64_t bytes;
    ReceiveRequest receive;
  };
  Arrival* find_arrival(std::uint64_t name);

  struct Atomic {
    std::uint64_t serial;
    std::uint64_t before;
  };

  QueuePair& qp_;
  Placement* placement_ = nullptr;   // of request_; it points back
  std::deque<Atomic> last_atomics_;  // the newest last
  bool has_receive_ = false;         // receive_ is taken and not completed
  bool ring_dead_ = false;           // until reset()
  bool peer_waits_ = false;
  bool told_last_ = false;  // of kLastReceiveReached; until reset()
  TimerId flush_timer_ = TimerId::kNone;
  Absence ring_absence_;
  RemoteRequest request_;
  ReceiveRequest receive_;
  std::vector<Arrival> arrivals_;           // at most one for each channel
  std::vector<ReceiveRequest> given_back_;  // taken for arrivals that came to nothing
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
