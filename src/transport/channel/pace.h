// Steps detects whether a transfer makes real progress. A host that sends or accepts only a few
// bytes now and then counts as stalled.
//
// Pace decides how much of a long message is sent at once. This is the amount that the wire carries
// in about kPieceTime. Newer messages therefore do not wait long, even on a slow network.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/instant.h"
#include "wire/record.h"

namespace paravane::transport_channel {

class Steps {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{64} * 1024;

  explicit Steps(Instant now) : last_(now) {}
  // A transfer begins, after there was nothing to transfer.
  void begin(Instant now) {
    last_ = now;
    bytes_ = 0;
  }
  void on_moved(std::uint64_t bytes, Instant now) {
    bytes_ += bytes;
    if (bytes_ < kBytes) return;
    bytes_ = 0;
    last_ = now;
  }
  // When the last step was done.
  Instant last() const { return last_; }

 private:
  Instant last_;
  std::uint64_t bytes_ = 0;  // since then
};

class Pace {
 public:
  static constexpr Duration kPieceTime = std::chrono::milliseconds(10);
  static constexpr std::uint64_t kLeast = 4096;
  static constexpr std::uint64_t kMost = wire::kMaxDirectBytes;

  explicit Pace(Instant now) : since_(now) {}
  // Sending begins, after there was nothing to send.
  void begin(Instant now) {
    since_ = now;
    bytes_ = 0;
    was_blocked_ = false;
  }
  void on_blocked() { was_blocked_ = true; }
  // The socket has accepted `bytes`.
  void on_moved(std::uint64_t bytes, Instant now);
  std::uint64_t piece_bytes() const { return piece_bytes_; }

 private:
  Instant since_;  // the beginning of the stretch that is being measured
  std::uint64_t bytes_ = 0;
  bool was_blocked_ = false;  // the socket took no more, in that stretch
  // The speed of a new connection is not known yet.
  std::uint64_t piece_bytes_ = std::uint64_t{64} * 1024;
};

}  // namespace paravane::transport_channel
