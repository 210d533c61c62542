// RequesterFlow carries the requests of a queue pair to its peer in packets. It numbers them, sends
// them within a window, sends again what was lost, places the data of READs and the results of
// atomics, and tells the queue pair of the outcomes, in order.
//
// If a try fails, all requests go back to the queue pair, which submits them again in the same
// order. Their packets then get the same numbers, and sending goes on with the first packet that
// the peer has not acknowledged. So it is when the flow goes on in another engine (docs/state.md):
// of the requests under way, only their numbers are saved, and the queue pair has the requests.
//
// Where packets are lost, a READ is asked for in parts, each of which has the numbers that its data
// has in the READ. The next is asked for when the one before has come. So each READ has one request
// under way, as the queue pair's limit wants it, and what was asked for and has not come is of one
// request, also after it has gone back to the queue pair. A peer answers part of a request again,
// but not what spans two. Until it is known to have the request, it gets all of it again, or it
// might take the part for the request.
//
// Owner thread only. Source: IBTA volume 1, 9.7.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/instant.h"
#include "state/reader.h"
#include "state/writer.h"
#include "transport/roce/counters.h"
#include "transport/roce/flow_facts.h"
#include "transport/roce/outlet.h"
#include "transport/roce/read_parts.h"
#include "transport/roce/retransmission.h"
#include "transport/roce/shared_window.h"
#include "verbs/psn.h"
#include "verbs/queue_pair.h"
#include "wire/roce/frame.h"

namespace paravane::transport_roce {

// What a requester remembers of its connection between requests: the numbers of packets.
struct RequesterState {
  bool started = false;
  verbs::Psn unanswered;  // the first packet that the peer has not answered
  verbs::Psn sent;        // the first packet that was never sent
  verbs::Psn end;         // the first number that no request has
  // Of requests that went back after numbers from `end` on were sent: the serial of the oldest, to
  // which they belong.
  std::uint64_t oldest = 0;
};

class RequesterFlow {
 public:
  // All outlive the flow.
  RequesterFlow(verbs::QueuePair& qp, const FlowFacts& facts, RoceCounters& counters,
                SharedWindow& window)
      : qp_(qp), facts_(facts), counters_(counters), share_(window) {}

  // Before the first request.
  void start(verbs::Psn first);
  bool started() const { return state_.started; }
  // The number of the first packet that the peer has not answered.
  verbs::Psn unanswered() const { return state_.unanswered; }
  // `timeout`: of the queue pair; zero: for ever.
  void set_timeout(Duration timeout) {
    timeout_ = timeout;
    retransmission_.set_limit(timeout);
  }

  // Whether submit() may be called; else after some outcomes.
  bool has_room_for(const verbs::SendRequest& request) const;
  // `request` stays valid until its outcome or until cancel(). REQUIRES: started().
  void submit(const verbs::SendRequest& request, Instant now);
  void cancel();
  // The requests go back to the queue pair, because nothing will answer them.
  void give_up(Instant now);
  // False: the next number was sent already, with another request, which went back and was done by
  // another transport since. A peer that has it takes what comes with the number now for a
  // repetition, and acknowledges it unseen.
  bool may_go_on(const verbs::SendRequest& request) const {
    return !requests_.empty() || state_.end == state_.sent || is_oldest_sent(request);
  }

  // ---- Saved state (docs/state.md) ---- What a flow needs to go on where this one is, when the
  // queue pair has submitted the requests under way to it again. REQUIRES: of save(), started(); of
  // load(), nothing was submitted yet.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // Whether compose() would send a packet, if the shared window has room.
  bool has_to_send() const {
    return !requests_.empty() && !is_stuck() && next_.is_before(state_.end) && !awaits_part() &&
           under_way() < retransmission_.window();
  }
  // Sends packets within `budget` and both windows. False: the outlet is full.
  bool compose(Outlet& outlet, verbs::Budget& budget, Instant now);

  // REQUIRES: the frame's opcode is an answer's, and it comes from the peer.
  void on_answer(const wire::roce::Frame& frame, Instant now);

  // The network has marked packets of ours: fewer may be under way, once in a round trip.
  void on_congestion(Instant now);

  // When on_timer() must be called; kNever: nothing is waited for.
  Instant deadline() const {
    if (requests_.empty()) return kNever;
    return timeout_ == Duration::zero() ? deadline_ : std::min(deadline_, progress_ + timeout_);
  }
  void on_timer(Instant now);

 private:
  struct Outgoing {
    const verbs::SendRequest* request;
    verbs::Psn first;
    std::uint32_t packets;  // of the data, in either direction
    std::uint64_t length;

    bool brings_bytes() const { return verbs::brings_bytes(request->opcode); }
    verbs::Psn last() const { return first.plus(packets - 1); }
  };

  std::uint32_t packets_of(const verbs::SendRequest& request) const;
  // Whether the numbers from state_.end on were sent with this request.
  bool is_oldest_sent(const verbs::SendRequest& request) const;
  // Part of a READ was asked for, and has not come. Nothing may be sent before the rest of it.
  bool awaits_part() const { return is_in_read_ && next_ != state_.unanswered; }
  bool is_stuck() const { return failed_.has_value(); }
  // Of the request with the packet `psn`; requests_.size(): none has it.
  std::size_t index_of(verbs::Psn psn) const;
  const Outgoing* find(verbs::Psn psn) const;
  std::uint32_t under_way() const;
  bool send_packets(Outlet& outlet, verbs::Budget& budget, Instant now);
  Outlet::Added send_next(const Outgoing& outgoing, bool fills_window, Outlet& outlet,
                          verbs::Budget& budget);
  wire::roce::Packet data_packet(const Outgoing& outgoing, std::uint32_t number) const;
  wire::roce::Packet fetch_packet(const Outgoing& outgoing, std::uint32_t number,
                                  std::uint32_t packets) const;
  // Of the answer to `outgoing`, how much is asked for with next_.
  std::uint32_t packets_to_fetch(const Outgoing& outgoing) const;
  void note_sent(verbs::Psn psn, Instant now);

  void on_acknowledge(const wire::roce::Packet& packet, Instant now);
  void on_refusal(verbs::Psn psn, std::uint8_t syndrome, Instant now);
  void on_data(const wire::roce::Frame& frame, Instant now);
  verbs::Outcome take(const Outgoing& outgoing, std::uint32_t number,
                      const wire::roce::Frame& frame);
  // The peer has everything before `psn`, says its answer with the number `heard`. False: it has
  // not, because a READ or an atomic before it was not answered, which is asked for again.
  bool pass_to(verbs::Psn psn, verbs::Psn heard, Instant now);
  // False: the flow was ended by what its outcome caused.
  bool finish_oldest(Instant now);
  void go_back(Instant now);
  // Because an answer with the number `heard` came.
  void ask_again(verbs::Psn heard, Instant now);
  void send_again();
  // An answer to packets that were not sent again says that those before the silence have come.
  // What was sent then is under way.
  void go_on();
  // Forgets the requests, whose numbers wait for them.
  void give_back();
  // All requests go back to the queue pair, and the oldest has this outcome.
  void fail(const verbs::Outcome& outcome, Instant now);
  void tell_stuck(Instant now);
  void note_progress(verbs::Psn before, Instant now);
  void count() { share_.set(under_way()); }
  void set_deadline(Instant now) { deadline_ = now + retransmission_.wait(); }

  verbs::QueuePair& qp_;
  const FlowFacts& facts_;
  RoceCounters& counters_;
  RequesterState state_;
  Retransmission retransmission_;
  SharedWindow::Share share_;
  ReadParts parts_;
  std::deque<Outgoing> requests_;  // the first packet of each follows the last of the one before
  std::size_t fetches_ = 0;        // how many of them are READs and atomics
  verbs::Psn next_;                // the packet to send next
  bool is_in_read_ = false;        // the packet before it asked for a part of the same READ
  bool is_silent_ = false;         // next_ went back because nothing came, and no complaint since
  bool is_known_ = false;          // the peer has the last request for data of the oldest READ
  Duration timeout_{};
  Instant progress_{};  // when something was submitted or answered last
  Instant deadline_ = kNever;
  std::uint64_t ends_ = 0;  // how often requests_ was given back or cancelled
  // Our own memory failed for a request; the outcome is told when all before it are done.
  struct Failed {
    std::uint64_t serial;
    verbs::Outcome outcome;
  };
  std::optional<Failed> failed_;
  // The packet whose round trip is measured.
  struct Timed {
    verbs::Psn psn;
    Instant sent_at;
  };
  std::optional<Timed> timed_;
  Instant slowed_{};  // when on_congestion() did something
  // The last packet that an answer made us go back to, and when: once in a round trip. Also the one
  // whose data was asked for again after a silence.
  std::optional<Timed> gone_back_;
  ExtentList scratch_;
};

}  // namespace paravane::transport_roce
