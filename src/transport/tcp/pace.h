// Steps: detects whether a transfer really makes progress: a host that sends or accepts only a few
// bytes now and then counts as stalled.
//
// Pace: how much of a message to send at once, so that newer messages do not wait long for the
// wire, however slow it is.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/instant.h"
#include "wire/record.h"

namespace paravane::transport_tcp {

class Steps {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{64} * 1024;

  explicit Steps(Instant now) : last_(now) {}
  // There is something to be moved, after there was nothing.
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
  // There is something to be sent, after there was nothing.
  void begin(Instant now) {
    since_ = now;
    bytes_ = 0;
    was_blocked_ = false;
  }
  void on_blocked() { was_blocked_ = true; }
  // So much is about to be counted as taken by the socket.
  void on_moved(std::uint64_t bytes, Instant now);
  std::uint64_t piece_bytes() const { return piece_bytes_; }

 private:
  Instant since_;  // the beginning of the stretch that is being measured
  std::uint64_t bytes_ = 0;
  bool was_blocked_ = false;  // the socket took no more, in that stretch
  // Of a new connection nothing is known yet.
  std::uint64_t piece_bytes_ = std::uint64_t{64} * 1024;
};

}  // namespace paravane::transport_tcp
