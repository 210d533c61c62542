// SegmentReceiver: joins the segments of one long MAD from one peer (IBTA volume 1, 13.6).
//
// It acknowledges the first segment, then the last one of each window and of the MAD, as Linux
// does; what was acknowledged and comes again is acknowledged again, also for a while after the
// end. Segments of the window that come early are kept.
//
// The peer may be hostile. What is kept is what has arrived: no length that a header states makes
// it keep more. A MAD longer than Options::most_bytes is stopped, and one that takes longer than
// Options::most_time is aborted, as are headers that contradict themselves. Each packet is answered
// with at most one.
//
// It reads no clock and sends nothing itself: what is to be sent is appended to `out`. Owner thread
// only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/instant.h"
#include "subnet/segment_state.h"
#include "wire/infiniband/segments.h"

namespace paravane::subnet {

class SegmentReceiver {
 public:
  struct Options {
    std::uint32_t window = 64;                      // segments, after the first; Linux: as many
    std::size_t most_bytes = std::size_t{1} << 20;  // of the joined MAD
    Duration most_time = std::chrono::seconds(40);  // for the whole; so long as Linux waits
    Duration linger = std::chrono::seconds(10);     // how long the end is acknowledged again
  };

  // What is wrong with a segment on its own, as a segment_status. REQUIRES: is_segment(mad).
  static std::optional<std::uint8_t> fault_of(const wire::infiniband::MadBytes& mad);

  // REQUIRES: data, number 1, without a fault.
  SegmentReceiver(const wire::infiniband::MadBytes& first, const Options& options);

  // Once, before all others; takes the first segment.
  void begin(Instant now, MadList& out);
  // A segment of this MAD, or what else the peer sends for it. REQUIRES: is_segment(mad), and the
  // class of the first.
  void on_packet(const wire::infiniband::MadBytes& mad, Instant now, MadList& out);
  // Does nothing before next_deadline().
  void on_time(Instant now, MadList& out);
  // Ends it because our resources are used up, and tells the peer. REQUIRES: kRunning.
  void stop(MadList& out);
  // kNever: it waits for nothing.
  Instant next_deadline() const;

  SegmentState state() const { return state_; }
  // REQUIRES: kFailed.
  const SegmentFailure& failure() const { return failure_; }
  // The MAD as an agent sees it, once. REQUIRES: kFinished.
  std::vector<std::byte> take();
  // How many segments of an answer its sender allows before the first ACK.
  std::uint32_t answer_window() const { return answer_window_; }
  // Of data that it holds.
  std::size_t bytes() const { return (pieces_.size() + early_.size()) * sizeof(Piece); }

 private:
  using Piece =
      std::array<std::byte, wire::infiniband::kMadBytes - wire::infiniband::kClassHeaderAt>;

  void on_data(const wire::infiniband::MadBytes& mad, Instant now, MadList& out);
  // Whether it fits to what is known of the end and to the bounds; ends the transfer if not.
  bool accepts(const wire::infiniband::SegmentHeader& header, MadList& out);
  void keep(std::uint32_t number, const wire::infiniband::MadBytes& mad);
  void acknowledge(const wire::infiniband::MadBytes& mad, MadList& out);
  void fail(SegmentFault fault, std::uint8_t status);
  void abort(SegmentFault fault, std::uint8_t status, MadList& out);

  Options options_;
  wire::infiniband::MadBytes first_;
  wire::infiniband::SegmentShape shape_;
  SegmentState state_ = SegmentState::kRunning;
  SegmentFailure failure_;
  Instant due_ = kNever;

  std::deque<Piece> pieces_;              // the segments from 1 on; the last may be shorter
  std::map<std::uint32_t, Piece> early_;  // by number

  // Numbers of segments.
  std::uint32_t joined_ = 0;
  std::uint32_t acknowledged_ = 0;
  std::uint32_t window_ = 1;
  std::uint32_t highest_ = 0;
  std::uint32_t last_ = 0;      // 0: not known
  std::size_t last_bytes_ = 0;  // of its data
  std::uint32_t answer_window_ = 1;
};

}  // namespace paravane::subnet
