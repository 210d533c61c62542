// Lanes moves pieces of long messages between the guests' memory of this host and of a channel's
// peer, by the lanes of a trunk (wire/lane_frames.h). Links decide which pieces; Lanes keeps their
// order, the loans of their memory, and the state of each lane.
//
// A lane that is closed, because memory was recalled or the adapter refused, is opened anew a while
// later. What it had under way goes by the stream meanwhile.
//
// The peer is hostile: a piece that it sends to the wrong place ends the channel.
//
// Owner thread only.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "guestmem/extent.h"
#include "guestmem/loans.h"
#include "transport/channel/channel_counters.h"
#include "transport/channel/lane_port.h"
#include "verbs/queue_pair.h"
#include "wire/block_writer.h"
#include "wire/lane_frames.h"

namespace paravane::transport_channel {

// Receives a message by a lane.
class LaneReceiver {
 public:
  // The oldest piece that it has cleared is in place, or will not be sent (`is_void`).
  virtual void on_piece(std::uint64_t serial, std::uint32_t bytes, bool is_void) = 0;
  // None of the pieces that it has cleared will be received.
  virtual void on_lane_closed() = 0;

 protected:
  ~LaneReceiver() = default;
};

// Sends the answer to a READ by a lane.
class LaneSender {
 public:
  // The peer's adapter has its last piece. Not `is_there`: it may have it, for the lane was closed.
  virtual void on_last_piece(std::uint64_t serial, bool is_there) = 0;

 protected:
  ~LaneSender() = default;
};

class Lanes final : public Loans::Borrower {
 public:
  // A lane that was closed is opened after this, which is doubled each time that it cannot be
  // connected.
  static constexpr Duration kPause = std::chrono::milliseconds(100);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);
  // A piece that was cleared comes within this, or its lane is closed.
  static constexpr Duration kReceiveWithin = std::chrono::seconds(3);

  // A piece of a message in guest memory.
  struct Piece {
    verbs::QueuePair& qp;
    const ExtentList& extents;
    std::vector<std::uint32_t> keys;  // of the memory regions that it was found in
  };
  struct Cleared {
    std::uint32_t lane;
    std::uint32_t number;
  };

  // Both outlive the object.
  Lanes(LanePort& port, ChannelCounters& counters) : port_(port), counters_(counters) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // ---- For the channel ----
  // The peer has lanes too.
  void begin(Instant now);
  // Acts on what the adapter has completed. Errors: the peer has broken the rules.
  Status take_events(Instant now);
  // To be called at next_look().
  void keep_alive(Instant now);
  Instant next_look() const;
  bool on_open(const wire::LaneOpen& frame);
  bool on_ready(const wire::LaneReady& frame);
  bool on_closed(const wire::LaneClosed& frame);
  bool has_events() const { return !events_.empty() || port_.has_events(); }
  bool has_frames() const { return has_frames_; }
  // As much as has room in a turn.
  void compose(wire::BlockWriter& block);
  void close_all();
  void forget(verbs::AdapterId adapter) { port_.forget(adapter); }
  void forget(const LaneSender& sender);
  MemoryState memory_of(verbs::AdapterId adapter) const { return port_.memory_of(adapter); }

  // ---- For the link that sends ----
  // Whether a message that begins with these extents can go by a lane.
  bool may_send(verbs::QueuePair& qp, const ExtentList& extents);
  enum class Sent : std::uint8_t {
    kYes,
    kVoid,     // the peer was told that this piece does not come
    kNo,       // the lane is closed; the peer will clear what is left anew
    kInvalid,  // the peer has broken the rules
  };
  // Of the piece that the peer has cleared. `sender`: it is the last of an answer.
  Sent send(const Cleared& cleared, const Piece& piece, LaneSender* sender = nullptr,
            std::uint64_t serial = 0);
  Sent send_void(const Cleared& cleared);

  // ---- For the link that receives ----
  // How many pieces more this queue pair may have under way, that has `under_way`.
  std::uint32_t room_for(const verbs::QueuePair& qp, std::uint32_t under_way) const;
  // Whose piece it is, for the peer.
  struct Owner {
    std::uint32_t link;
    std::uint64_t serial;
    std::uint64_t offset;    // in the message
    bool is_answer = false;  // of a READ
  };
  // Lends as much of the piece as the adapter takes at once, and clears that. Returns its bytes; 0:
  // it cannot be received by a lane. REQUIRES: room_for() is not 0.
  std::uint64_t receive(LaneReceiver& receiver, const Owner& owner, const Piece& piece);

  // ---- Loans::Borrower ----
  void settle() override;
  void recall(std::uint32_t lane) override;

 private:
  struct Lending {
    Loans* loans;
    Loans::Loan loan;
    void end() const { loans->give_back(loan); }
  };
  struct Receive {
    Lending lending;
    LaneReceiver* receiver;
    std::uint64_t serial;
    std::uint32_t bytes;
    Instant since;
  };
  struct Send {
    std::optional<Lending> lending{};  // of a void piece: none
    LaneSender* sender = nullptr;
    std::uint64_t serial = 0;
    void end(bool is_there) const;
  };
  // Of the piece with this number. Links take turns at what they say, but the peer hears of pieces
  // in the order in which they were lent.
  struct Due {
    Owner owner;
    std::uint32_t bytes;
    std::uint32_t number;
  };
  struct Lane {
    enum class State : std::uint8_t { kClosed, kConnecting, kConnected };
    State state = State::kClosed;
    std::optional<std::uint32_t> own_psn{};   // the peer was told
    std::optional<std::uint32_t> peer_psn{};  // the peer has said
    bool is_peer_ready = false;
    bool is_closed_due = false;  // frames
    bool is_open_due = false;
    bool is_ready_due = false;
    Instant opens_at = kNever;
    Duration pause = kPause;
    std::uint32_t cleared = 0;   // pieces, since it was opened
    std::uint32_t received = 0;  // of them
    std::uint32_t sent = 0;      // pieces
    std::deque<Receive> receives{};
    std::deque<Due> clears_due{};
    std::deque<Send> sends{};
  };

  Lane& lane(std::uint32_t number) { return lanes_.at(number - 1); }
  const Lane& lane(std::uint32_t number) const { return lanes_.at(number - 1); }
  ExtentList what_fits(const ExtentList& extents) const;
  static void add_clear(std::uint32_t number, const Due& due, wire::BlockWriter& block);
  static std::uint32_t number_for(const verbs::QueuePair& qp);
  Lending lend(std::uint32_t number, const Piece& piece);
  std::optional<LaneEvent> next_event();
  void take_sent(std::uint32_t number);
  Status take_received(const LaneEvent& event);
  void connect(std::uint32_t number);
  void close(std::uint32_t number);
  // kYes: the piece may be sent.
  Sent judge(const Cleared& cleared);

  LanePort& port_;
  ChannelCounters& counters_;
  Instant now_{};
  bool is_begun_ = false;
  bool has_frames_ = false;
  std::array<Lane, wire::kLanes> lanes_;
  std::deque<LaneEvent> events_;  // that settle() has come upon
};

}  // namespace paravane::transport_channel
