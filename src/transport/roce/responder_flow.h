// ResponderFlow answers the packets of a connection's peer. It puts them in order by their PSN,
// hands their messages to the queue pair's responder, and sends acknowledgements, the data of READs
// and the results of atomics.
//
// All answers leave in the order of their PSNs, from one queue. A peer takes an acknowledgement
// that comes before the data of an earlier READ as a sign that the data was lost (IBTA 9.7.5.1.2).
// The queue is bounded by the READs and atomics that the connection allows, because neighbouring
// acknowledgements are one. The data of READs is not kept. It is read from guest memory when it is
// sent.
//
// A message of which part has arrived goes on in another engine (docs/state.md): its bytes are in
// the guest's memory, and the queue pair keeps the receive that was taken for it.
//
// A lost packet is asked for once, and all that follows it is dropped until it comes: the standard
// knows no selective repeat. Owner thread only. Source: IBTA volume 1, 9.7.

#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "state/reader.h"
#include "state/writer.h"
#include "transport/roce/counters.h"
#include "transport/roce/flow_facts.h"
#include "transport/roce/opcode_facts.h"
#include "transport/roce/outlet.h"
#include "verbs/psn.h"
#include "verbs/queue_pair.h"
#include "verbs/responder.h"
#include "wire/roce/frame.h"

namespace paravane::transport_roce {

// A READ or an atomic that was executed, so that it can be answered again.
struct KeptAnswer {
  verbs::Psn first;
  std::uint32_t packets = 1;
  std::uint32_t message_number = 0;
  bool is_read = false;
  std::uint64_t address = 0;  // of a READ
  std::uint32_t rkey = 0;
  std::uint64_t length = 0;
  std::uint64_t original = 0;  // of an atomic
};

// A send or a write of which some packets have arrived, and not the last.
struct ArrivingMessage {
  bool is_write = false;
  std::uint64_t address = 0;  // of a write, as all that its first packet says
  std::uint32_t rkey = 0;
  std::uint64_t length = 0;
  std::uint64_t arrived = 0;  // bytes that are placed
};

// What a responder remembers of its connection.
struct ResponderState {
  verbs::Psn expected;
  std::uint32_t message_number = 0;  // of messages that were executed, 24 bits
  std::uint64_t atomics = 0;         // that were executed
  bool has_told_gap = false;         // the peer knows which packet is missing
  bool has_told_wait = false;        // the peer knows that no receive was posted
  bool has_refused = false;          // for good: the connection is broken
  std::vector<KeptAnswer> kept;      // at most max_dest_reads, of late, the newest last
  std::optional<ArrivingMessage> arriving;
};

class ResponderFlow {
 public:
  // All outlive the flow.
  ResponderFlow(verbs::QueuePair& qp, const FlowFacts& facts, verbs::Psn expected,
                RoceCounters& counters);

  // ---- Saved state (docs/state.md) ---- What a flow needs to go on where this one is. Answers
  // that wait to be sent are not in it: the peer asks for them again. REQUIRES of load(): no packet
  // has come yet, and the queue pair was loaded.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // The number of the packet that the peer sends next.
  verbs::Psn expected() const { return state_.expected; }

  // How many READs and atomics the peer may have under way.
  void set_max_reads(std::uint8_t max_reads);
  // What waits to be sent is dropped, as a wire may drop it.
  void drop_answers() { answers_.clear(); }

  // REQUIRES: the frame's opcode is a request's, and it comes from the peer.
  void on_request(const wire::roce::Frame& frame);

  bool has_to_send() const { return !answers_.empty(); }
  // Sends answers within `budget`. False: the outlet is full.
  bool compose(Outlet& outlet, verbs::Budget& budget);

 private:
  struct Answer {
    enum class Kind : std::uint8_t { kAcknowledge, kRefuse, kRead, kAtomic };
    Kind kind{};
    verbs::Psn psn;  // of a READ: of the next packet
    std::uint32_t message_number = 0;
    std::uint8_t syndrome = 0;
    std::uint64_t original = 0;
    std::uint64_t address = 0;  // of a READ
    std::uint64_t length = 0;
    std::uint64_t done = 0;  // bytes of it that were sent
    std::uint32_t rkey = 0;
    std::uint32_t packets = 0;  // of it that are left
    bool is_resumed = false;
    bool is_again = false;  // it was answered before
  };

  void on_gap();
  void on_duplicate(const wire::roce::Frame& frame);
  void execute(const wire::roce::Frame& frame);
  // A send or a write of one packet. Nothing is remembered of it: if it is not done, the packet
  // comes again.
  verbs::Outcome take_whole(const wire::roce::Frame& frame, OpcodeFacts facts);
  // Part of a send or a write.
  verbs::Outcome take_part(const wire::roce::Frame& frame, OpcodeFacts facts);
  // The queue pair judges a message by what is known of it.
  std::expected<verbs::Placement, verbs::Outcome> begin(const ArrivingMessage& message);
  // What a packet brings of a message of which `arrived` bytes are placed.
  verbs::Outcome place(verbs::Placement& placement, std::uint64_t arrived,
                       std::span<const std::byte> payload);
  static verbs::Outcome finish(verbs::Placement& placement, std::uint64_t arrived,
                               const wire::roce::Packet& packet, PacketKind kind);
  // The queue pair has ended the message that is arriving, or executes another since.
  bool is_message_over() const;
  void forget_message();
  verbs::Outcome execute_read(const wire::roce::Packet& packet);
  verbs::Outcome execute_atomic(const wire::roce::Packet& packet);
  bool has_valid_size(const wire::roce::Packet& packet, OpcodeFacts facts) const;
  void keep(const KeptAnswer& answer);
  const KeptAnswer* find_kept(verbs::Psn psn) const;
  void drop_old_answers();
  void read_again(const wire::roce::Packet& packet, const KeptAnswer& kept);
  void pass(std::uint32_t packets, bool ends_message);
  void acknowledge();
  void acknowledge_again(verbs::Psn repeated);
  void refuse(const verbs::Outcome& outcome);
  // In the order of PSNs. An answer that is there already is not added, and none where too many
  // wait: the peer asks again.
  void add_answer(const Answer& answer);
  static std::size_t most_answers(std::uint8_t max_reads);
  std::size_t reads_waiting() const;
  Outlet::Added send_simple(const Answer& answer, Outlet& outlet);
  // nullopt: the READ cannot go on.
  std::optional<Outlet::Added> send_data(Answer& answer, Outlet& outlet, verbs::Budget& budget);

  verbs::QueuePair& qp_;
  const FlowFacts& facts_;
  RoceCounters& counters_;
  std::uint8_t max_reads_ = 0;
  ResponderState state_;
  // Of state_.arriving. nullopt: that was loaded, and is begun anew when more of it comes.
  std::optional<verbs::Placement> placement_;
  std::uint64_t loaded_at_ = 0;  // the queue pair's stats().receives then
  std::deque<Answer> answers_;
  ExtentList scratch_;
};

}  // namespace paravane::transport_roce
