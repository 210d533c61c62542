// OutboundLink is the requester's side of a link, which carries one queue pair's requests to its
// peer on another host. It holds the outstanding requests, in order, until each is answered.
//
// Payload is read from guest memory when it is sent, not before. When the channel is lost, every
// unanswered request returns to the requester, which submits it again with the same serial number.
// The responder recognizes the requests that it has already received.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/instant.h"
#include "guestmem/extent.h"
#include "transport/channel/direct.h"
#include "transport/channel/lane_pieces.h"
#include "transport/channel/lanes.h"
#include "transport/channel/turns.h"
#include "verbs/fabric_port.h"
#include "verbs/life.h"
#include "verbs/queue_pair.h"
#include "verbs/transport.h"
#include "wire/block_writer.h"
#include "wire/frames.h"
#include "wire/lane_frames.h"

namespace paravane::transport_channel {

class Channel;

// Shows how much of the sent data the peer has read, because it answers Pings in order.
struct PeerSigns {
  std::uint64_t pings_sent = 0;      // the number of the last one
  std::uint64_t pings_answered = 0;  // likewise
  Instant read_answers_moved;        // those of any link
};

class OutboundLink final : public LaneReceiver {
 public:
  explicit OutboundLink(verbs::QueuePair& qp) : qp_(qp) {}
  ~OutboundLink();
  OutboundLink(const OutboundLink&) = delete;
  OutboundLink& operator=(const OutboundLink&) = delete;

  verbs::QueuePair& qp() const { return qp_; }

  // ---- For the transport ----
  // `channel` leads to `path.host` and is open.
  void submit(const verbs::SendRequest& request, const verbs::Path& path, Channel& channel);
  void cancel();

  // ---- For the channel ----
  // True: there is more to be sent.
  bool compose(wire::BlockWriter& block, std::optional<Direct>& direct);
  // Joins the links with something to send, if it is not among them.
  void join_line();
  // Finds the payload in guest memory at this moment. False: the memory is gone, and zeros are sent
  // instead.
  bool gather(const Direct& direct, std::uint64_t done, ExtentList& out);
  // Whether the next frame has payload that follows its block.
  bool next_is_long();
  // The time since which the peer could have answered but has not; kNever: no response is due.
  Instant silent_since(const PeerSigns& signs, Instant now);
  // True: only a Ping that is sent from now on can show that the peer has read the requests.
  bool wants_ping(const PeerSigns& signs) const;
  // The memory could not be read, even if a later check finds it again. The request fails, and no
  // request that was posted after it is executed.
  void on_memory_lost(const Direct& direct);
  // The channel is lost. True: requests were in progress, and were returned to the requester, with
  // this outcome.
  bool on_channel_lost(const verbs::Outcome& outcome, Instant now);

  // Responses from the peer. False: the peer has broken the rules.
  bool on_opened(const wire::Opened& frame, std::span<const std::byte> more);
  bool on_closed(const wire::Closed& frame);
  bool on_ack(const wire::Ack& frame);
  bool on_nak(const wire::Nak& frame);
  bool on_word(const wire::Word& frame);
  // `bytes` of payload follow. `sink` nullopt: the payload is no longer needed.
  bool on_data(const wire::Data& frame, std::uint64_t bytes, std::optional<Sink>& sink);
  // Finds the memory for bytes [from, from+length) of the message at this moment. False: there is
  // none.
  bool place(const Sink& sink, std::uint64_t from, std::uint64_t length, ExtentList& out);
  // All payload for the sink has arrived.
  void on_placed(const Sink& sink, Arrival arrival);
  bool on_ready(const wire::Ready& frame);
  bool on_clear(const wire::Clear& frame);
  bool on_answer_due(const wire::AnswerDue& frame);

  // ---- LaneReceiver, of what READs bring ----
  void on_piece(std::uint64_t serial, std::uint32_t bytes, bool is_void) override;
  void on_lane_closed() override;

  Turns<OutboundLink>::Place sending;  // among links with something to send

 private:
  struct Outstanding {
    const verbs::SendRequest* request;
    std::uint64_t length;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;  // of a READ's bytes
    bool begun = false;          // the peer has heard of it
    bool by_lane = false;        // its payload waits to be cleared
    bool in_stream = false;      // by_lane, and what is left goes in the stream
    bool is_void = false;        // by_lane: no more pieces are sent
    std::uint64_t cleared = 0;   // by_lane: bytes that the adapter was given
    bool is_due = false;         // of a READ by a lane: the peer has said that it answers it now
    LanePieces pieces{};         // likewise
    bool answered = false;
    // The whole request is sent before the Ping with this number.
    std::uint64_t before_ping = 0;
    bool is_ping_out = false;
    bool was_read = false;  // and was answered
    Instant due_since{};    // the last of these was seen
    std::optional<verbs::Outcome> failed{};

    std::uint64_t serial() const { return request->serial; }
    bool brings_bytes() const { return verbs::brings_bytes(request->opcode); }
    bool waits_for_lane() const { return by_lane && !in_stream; }
    bool is_sent() const { return begun && (brings_bytes() || waits_for_lane() || sent == length); }
  };

  bool knows_connection(const Channel& channel) const;
  bool can_go_by_lane(const Outstanding& next);
  Lanes::Sent send_piece(Outstanding& entry, const wire::Clear& frame);
  void clear_pieces(Outstanding& entry);
  void clear_piece(Outstanding& entry);
  void clear_stream(Outstanding& entry);
  // The adapter lets go of the memory of READs, before they are forgotten.
  void recall_pieces();
  void drop_requests();
  Outstanding* next_to_send();
  Outstanding* find(std::uint64_t serial);
  bool has_to_send();
  void open(wire::BlockWriter& block);
  void begin(Outstanding& next, wire::BlockWriter& block, std::optional<Direct>& direct);
  void go_on(Outstanding& next, wire::BlockWriter& block, std::optional<Direct>& direct);
  template <typename Frame>
  void add_payload(Outstanding& next, const Frame& frame, wire::BlockWriter& block,
                   std::optional<Direct>& direct);
  // The local memory of what is next, from `offset` on.
  verbs::Outcome gather_own(const Outstanding& next, std::uint64_t offset, std::uint64_t length);
  void fail_own(Outstanding& next, const verbs::Outcome& outcome);
  // Tells the requester of the outcomes that are due, in order.
  void deliver();
  void leave_channel();

  verbs::QueuePair& qp_;
  Channel* channel_ = nullptr;  // in which the link is open, or is being opened
  std::uint32_t link_ = 0;      // 0: not open
  verbs::SegmentId segment_{};
  std::uint64_t last_begun_ = 0;  // serial
  bool abort_due_ = false;
  Instant last_answer_;  // that brought something forward
  std::deque<Outstanding> requests_;
  std::deque<wire::ClearAnswer> clears_;
};

}  // namespace paravane::transport_channel
