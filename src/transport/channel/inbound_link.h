// InboundLink is the responder's side of a link, which carries one queue pair's requests to its
// peer on another host. It executes the requests in order and remembers the results. If a response
// was lost with a channel, the request is answered again but not executed again (IBTA 9.7.5.1.3,
// duplicate requests).
//
// Pending responses are kept here and not in a queue. There are only a few, because one
// acknowledgement covers all requests before it, and the number of outstanding READs is limited. A
// peer that sends but does not read therefore uses a bounded amount of memory.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "guestmem/extent.h"
#include "transport/channel/direct.h"
#include "transport/channel/lane_pieces.h"
#include "transport/channel/lanes.h"
#include "transport/channel/link_lives.h"
#include "transport/channel/turns.h"
#include "verbs/fabric_port.h"
#include "verbs/life.h"
#include "verbs/queue_pair.h"
#include "verbs/responder.h"
#include "wire/block_writer.h"
#include "wire/frames.h"

namespace paravane::transport_channel {

class Channel;

class InboundLink final : public LaneReceiver, public LaneSender {
 public:
  explicit InboundLink(verbs::QueuePair& qp) : qp_(qp) {}
  ~InboundLink();
  InboundLink(const InboundLink&) = delete;
  InboundLink& operator=(const InboundLink&) = delete;

  // The peer opens its link in `channel`, with this number. False: the peer means an earlier
  // connection of this queue pair.
  bool open(std::uint32_t number, const LinkLives& lives, Channel& channel);

  // The payload follows inside the frame, or as `direct_bytes` after the block; then `sink` is set
  // to its destination. False: the peer has broken the rules.
  bool on_request(const wire::Request& frame, std::span<const std::byte> inside,
                  std::uint64_t direct_bytes, std::optional<Sink>& sink);
  bool on_more(const wire::More& frame, std::span<const std::byte> inside,
               std::uint64_t direct_bytes, std::optional<Sink>& sink);
  bool on_clear_answer(const wire::ClearAnswer& frame);
  void on_abort();
  void on_channel_lost();

  // Finds the memory for bytes [from, from+length) of the message in progress. False: there is
  // none, and the rest of the message is refused.
  bool place(const Sink& sink, std::uint64_t from, std::uint64_t length, ExtentList& out);
  // All payload for the sink has arrived.
  void on_placed(const Sink& sink, Arrival arrival);

  // ---- LaneReceiver ----
  void on_piece(std::uint64_t serial, std::uint32_t bytes, bool is_void) override;
  void on_lane_closed() override;
  // ---- LaneSender ----
  void on_last_piece(std::uint64_t serial, bool is_there) override;

  // Adds the responses that fit into frames, up to the limit of one turn.
  void compose(wire::BlockWriter& block);
  // Adds a piece of a READ's payload, which follows the block.
  void compose_long(wire::BlockWriter& block, std::optional<Direct>& direct);
  // Finds a READ's payload in guest memory at this moment. False: the memory is gone.
  bool gather(const Direct& direct, std::uint64_t done, ExtentList& out);

  // The memory could not be read, even if a later check finds it again.
  void on_memory_lost(const Direct& direct);
  // All of `direct` was sent.
  void on_sent(const Direct& direct);

  // Tells the peer that a receive is posted again.
  void tell_ready();

  Turns<InboundLink>::Place answering;       // among links with answers
  Turns<InboundLink>::Place answering_long;  // among those of compose_long()

 private:
  struct Message {
    std::uint64_t serial;
    std::uint64_t length;
    bool came_by_lane = false;                    // what comes behind it is parked
    bool by_lane = false;                         // it still does, and not in the stream
    std::optional<verbs::Placement> placement{};  // none: its bytes are thrown away
    std::uint64_t done = 0;                       // bytes that came
    LanePieces pieces{};
  };
  // A request without payload in the stream, that came while the payload of another one was on its
  // way by a lane. Its own may be on its way too.
  struct Parked {
    verbs::RemoteRequest request;
    bool by_lane;
    LanePieces pieces{};

    bool is_by_lane() const { return by_lane && !verbs::brings_bytes(request.opcode); }
  };
  struct Read {
    verbs::RemoteRequest request;
    std::uint64_t sent = 0;
    bool by_lane = false;  // as the requester clears it
    bool is_told = false;  // by_lane: that its turn has come
    bool is_void = false;  // by_lane: no more pieces are sent
  };
  struct Word {
    std::uint64_t serial;
    std::uint64_t value;
  };
  struct Refusal {
    std::uint64_t serial;
    verbs::Outcome outcome;
  };

  bool is_connected();
  void leave();
  bool act(const Parked& one, std::span<const std::byte> inside, std::uint64_t direct_bytes,
           std::optional<Sink>& sink);
  // ---- Of messages by a lane: inbound_lane.cc ----
  bool park(const verbs::RemoteRequest& request, bool by_lane);
  bool begins_anew(std::uint64_t serial);
  bool waits_for_lane() const { return message_ && message_->came_by_lane; }
  void act_on_parked();
  void clear_pieces();
  void clear_ahead();
  bool has_room(const Lanes& lanes) const;
  void clear_piece(Lanes& lanes);
  bool clear_piece_ahead(Lanes& lanes, Parked& parked, std::uint32_t receives);
  // Of the bytes in the channel's scratch.
  void lend(Lanes& lanes, std::uint64_t serial, std::vector<std::uint32_t> keys,
            LanePieces& pieces);
  bool leaves_lane() const {
    return message_ && message_->by_lane && message_->pieces.leaves_lane &&
           message_->pieces.under_way == 0;
  }
  void add_stream_clear(wire::BlockWriter& block);
  LanePieces* pieces_of(std::uint64_t serial);
  void leave_lane_behind(std::uint64_t serial);
  void lose(LanePieces& pieces);
  void recall_pieces();
  void begin(const verbs::RemoteRequest& request, verbs::Arrives arrives);
  void answer_again(const verbs::RemoteRequest& request);
  void begin_answer(const verbs::RemoteRequest& request);
  bool is_answer_due() const {
    return !reads_.empty() && reads_.front().by_lane && !reads_.front().is_told;
  }
  Lanes::Sent send_piece(const wire::ClearAnswer& frame);
  void drop_reads_by_lane(std::uint64_t from);
  void ask_again_from(std::uint64_t serial);
  bool send_rest(std::uint64_t serial, std::uint64_t offset);
  bool take_payload(std::span<const std::byte> inside, std::uint64_t direct_bytes,
                    std::optional<Sink>& sink);
  void take_inside(std::span<const std::byte> inside);
  void finish();
  void refuse(const verbs::Outcome& outcome);
  bool has_read(bool is_long) const;
  bool has_short() const;
  void join_lines();
  void leave_lines();
  void add_opened(wire::BlockWriter& block) const;
  void compose_read(wire::BlockWriter& block);

  verbs::QueuePair& qp_;
  Channel* channel_ = nullptr;
  std::uint32_t link_ = 0;
  verbs::Life peer_life_;
  std::uint64_t heard_ = 0;  // the last serial in this channel: no later one is acknowledged
  std::uint64_t refused_ =
      0;  // serial; 0: none. What comes after it is dropped until it comes again
  std::optional<Message> message_;
  std::deque<Parked> parked_;
  std::uint32_t under_way_ = 0;  // pieces of all these

  bool opened_due_ = false;
  bool ack_due_ = false;
  bool ready_due_ = false;
  std::optional<Refusal> refusal_due_;
  std::deque<Word> words_;
  std::deque<Read> reads_;
  std::optional<Read> unsure_;  // whether the peer has all of its answer
};

}  // namespace paravane::transport_channel
