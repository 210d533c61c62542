// SegmentSender: sends one long MAD to one peer (IBTA volume 1, 13.6).
//
// The peer's ACKs tell which segments have arrived and how far more may be sent; until the first
// ACK that is one. When no ACK comes in time, all of the window is sent again from the first
// segment that is not acknowledged: a Linux receiver acknowledges only whole windows, and keeps
// what came early. An ACK with progress gives all tries back, so there is also a time for the
// whole.
//
// A window is the peer's wish and may be of any size, so no more than kBurst segments leave at a
// time; the deadline is then at once.
//
// It reads no clock and sends nothing itself: what is to be sent is appended to `out`. Packets come
// from its peer, with its transaction, in whatever number and state; they are never answered with
// more than kBurst. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "subnet/segment_state.h"
#include "wire/infiniband/segments.h"

namespace paravane::subnet {

class SegmentSender {
 public:
  static constexpr std::uint32_t kBurst = 64;

  struct Options {
    Duration wait = std::chrono::seconds(2);  // for an ACK; so long as Linux waits
    unsigned retries = 3;                     // of a window without progress
    // Until the first ACK. More than 1 only for the answer to a MAD that came in segments, if its
    // sender allowed it (SegmentReceiver::answer_window()).
    std::uint32_t first_window = 1;
    // Whether an answer follows. Then the last ACK is acknowledged, which lets the peer begin with
    // the answer (13.6.3, double-sided transfers).
    bool expects_answer = false;
    Duration most_time = std::chrono::seconds(60);  // for the whole
    Duration linger = std::chrono::seconds(10);     // how long the last ACK is answered again
  };

  // Whether segments can be cut of `mad`: it is of such a class, and has all of its headers.
  static bool can_send(std::span<const std::byte> mad);

  // `mad`: a long MAD as an agent sees it; of its RMPP header the response time is kept. REQUIRES:
  // can_send(mad), less than 2^31 bytes.
  SegmentSender(std::vector<std::byte> mad, const Options& options);

  // Once, before all others.
  void begin(Instant now, MadList& out);
  // An ACK, STOP or ABORT; other segments are refused. REQUIRES: is_segment(mad).
  void on_packet(const wire::infiniband::MadBytes& mad, Instant now, MadList& out);
  // Does nothing before next_deadline().
  void on_time(Instant now, MadList& out);
  // kNever: it waits for nothing.
  Instant next_deadline() const;

  SegmentState state() const { return state_; }
  // REQUIRES: kFailed.
  const SegmentFailure& failure() const { return failure_; }
  // Whether it is needed once it has finished.
  bool lingers() const { return options_.expects_answer; }
  // That it holds: all of the MAD until it has finished.
  std::size_t bytes() const { return mad_.size(); }

 private:
  void on_ack(const wire::infiniband::MadBytes& mad, Instant now, MadList& out);
  void send_on(Instant now, MadList& out);
  void send_again(Instant now, MadList& out);
  void finish(Instant now);
  void fail(SegmentFault fault, std::uint8_t status);
  // Ends it and tells the peer.
  void abort(SegmentFault fault, std::uint8_t status, MadList& out);
  wire::infiniband::MadBytes segment(std::uint32_t number) const;
  wire::infiniband::MadBytes headers() const;

  Options options_;
  std::vector<std::byte> mad_;  // once it has finished: its headers alone
  wire::infiniband::SegmentShape shape_;
  std::uint32_t count_;
  SegmentState state_ = SegmentState::kRunning;
  SegmentFailure failure_;

  // Numbers of segments.
  std::uint32_t next_ = 1;
  std::uint32_t sent_ = 0;  // the highest that was sent
  std::uint32_t acknowledged_ = 0;
  std::uint32_t window_;
  unsigned retries_left_;
  bool is_within_window_ = false;  // the rest of it is to be sent at once
  Instant last_turn_{};
  Instant ack_due_ = kNever;
  Instant gives_up_ = kNever;  // finished: forgets
};

}  // namespace paravane::subnet
