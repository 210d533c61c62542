// Line: one stream of a cable at work: it says hello and beats, cuts what arrives into frames, and
// packs what waits into the stream. A cable outlives its lines: a host that changes its engine
// comes back with another one.
//
// The subnet's thread only. Throws std::bad_alloc where memory lacks: a packet is lost at most.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "cable/byte_stream.h"
#include "cable/frame.h"
#include "cable/frame_reader.h"
#include "cable/send_queue.h"

namespace paravane::cable {

class Line {
 public:
  static constexpr std::size_t kMostWords = 64;

  class Listener {
   public:
    virtual ~Listener() = default;
    // `packet` is valid during the call. `cables`: how many it came through, this one among them.
    virtual void on_packet(std::span<const std::byte> packet, std::uint8_t cables) = 0;
    virtual void on_link_word(LinkWord word) = 0;
  };

  // The port and the GUID of this host's switch, which the hello tells. `clock` outlives us.
  Line(std::unique_ptr<ByteStream> stream, std::uint16_t port, std::uint64_t guid,
       const TurnClock& clock);

  int fd() const { return stream_->fd(); }
  // Why the line is of no use any more; empty: it works.
  const std::string& problem() const { return problem_; }
  // Of the switch at the other end; 0: it has not said hello yet.
  std::uint64_t peer_guid() const { return peer_guid_; }

  // When the last frame arrived; before the first: when the line was made.
  Instant heard() const { return heard_; }

  // Of no use, for a reason that this host has.
  void refuse(std::string reason) { fail(std::move(reason)); }

  // There may be something to receive.
  void heard_event() { may_have_more_ = true; }
  bool may_have_more() const { return may_have_more_ && problem_.empty(); }
  // Takes at most `most` frames that have arrived; returns how many.
  std::size_t receive(std::size_t most, Listener& listener);

  // More than kMostWords that wait are a problem of the line: the host does not take them.
  void say(LinkWord word);
  // Sends as much as the stream takes.
  void flush(SendQueue& queue);
  // Whether the stream did not take all.
  bool is_held_up() const { return sent_ < out_.size(); }

  void on_time(Instant now);
  Instant next_deadline() const;

 private:
  static constexpr std::size_t kBatchBytes = std::size_t{64} * 1024;

  bool read_more();
  void take(const FrameReader::Frame& frame, Listener& listener);
  void take_hello(std::span<const std::byte> body);
  void take_beat();
  void beat();
  void add_urgent(FrameKind kind, std::span<const std::byte> body);
  void fill(SendQueue& queue);
  void fail(std::string problem);

  std::unique_ptr<ByteStream> stream_;
  const TurnClock& clock_;
  const std::uint64_t guid_;
  FrameReader reader_;
  bool may_have_more_ = true;
  std::uint64_t peer_guid_ = 0;
  std::vector<std::byte> urgent_;  // frames other than packets, which go first
  std::size_t words_ = 0;          // among them
  std::vector<std::byte> out_;     // what is being sent; the same bytes until all are
  std::size_t sent_ = 0;           // of out_
  Instant heard_{};                // the last frame
  Instant moved_{};                // the last progress in sending
  Instant next_beat_{};
  std::string problem_;
};

}  // namespace paravane::cable
