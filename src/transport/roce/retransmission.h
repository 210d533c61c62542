// Retransmission decides when a requester sends packets again, and how many it may have under way.
//
// The retry timer of the queue pair is a promise to the program, often seconds, so lost packets are
// sent again long before it expires: after a time that follows the measured round trip, doubled
// with each try (RFC 6298). Packets that were sent twice are no measure (Karn's rule). The window
// is that of TCP: it doubles in each round trip until something is lost or the network tells of
// congestion, and grows by one from then on. After a silence it begins with few packets (RFC 5681,
// 3.1): the answers may be late and not lost, and then all that is sent again is waste.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/instant.h"

namespace paravane::transport_roce {

class Retransmission {
 public:
  static constexpr std::uint32_t kFirstWindow = 32;
  static constexpr std::uint32_t kLeastWindow = 4;
  static constexpr std::uint32_t kMostWindow = 512;  // what a peer's queue holds without loss
  static constexpr Duration kLeastWait = std::chrono::milliseconds(1);
  static constexpr Duration kMostWait = std::chrono::seconds(2);

  // The most that is waited for, because the queue pair's own timer is longer; zero: it has none.
  void set_limit(Duration timeout) {
    limit_ = timeout == Duration::zero() ? kMostWait
                                         : std::clamp<Duration>(timeout / 2, kLeastWait, kMostWait);
  }

  std::uint32_t window() const { return window_; }
  Duration wait() const { return std::min(wait_, limit_); }
  // Zero: none was measured.
  Duration round_trip() const { return smoothed_; }

  // Packets were acknowledged. `round_trip`: of one that was sent once; zero: there was none.
  void on_progress(std::uint32_t packets, Duration round_trip) {
    if (round_trip > Duration::zero()) measure(round_trip);
    wait_ = base_wait_;
    credit_ += packets;
    if (window_ < threshold_) {
      window_ = std::min(window_ + packets, kMostWindow);
      credit_ = 0;
    } else if (credit_ >= window_) {
      credit_ = 0;
      window_ = std::min(window_ + 1, kMostWindow);
    }
  }
  // The peer misses a packet.
  void on_loss() {
    threshold_ = std::max(window_ / 2, kLeastWindow);
    window_ = threshold_;
    credit_ = 0;
  }
  // The network marks packets before it loses any, so less is given back than after a loss.
  void on_congestion() {
    threshold_ = std::max(window_ - window_ / 4, kLeastWindow);
    window_ = threshold_;
    credit_ = 0;
  }
  // Nothing has come for wait().
  void on_timeout() {
    if (wait_ == base_wait_) on_loss();
    window_ = kLeastWindow;
    wait_ = std::min(2 * wait_, limit_);
  }
  // After a silence came an answer to what was sent before it: nothing was lost, and answers take
  // longer than was waited for (RFC 4015). Half of the window comes back, not all: where many flows
  // share a queue, answers are late because it is full.
  void on_late_answer() {
    window_ = std::max(window_, threshold_);
    base_wait_ = std::min<Duration>(2 * base_wait_, kMostWait);
    wait_ = base_wait_;
  }

 private:
  void measure(Duration round_trip) {
    if (smoothed_ == Duration::zero()) {
      smoothed_ = round_trip;
      variation_ = round_trip / 2;
    } else {
      const Duration error =
          smoothed_ > round_trip ? smoothed_ - round_trip : round_trip - smoothed_;
      variation_ = (3 * variation_ + error) / 4;
      smoothed_ = (7 * smoothed_ + round_trip) / 8;
    }
    base_wait_ = std::clamp<Duration>(smoothed_ + 4 * variation_, kLeastWait, kMostWait);
  }

  std::uint32_t window_ = kFirstWindow;
  std::uint32_t threshold_ = kMostWindow;
  std::uint32_t credit_ = 0;
  Duration limit_ = kMostWait;
  Duration smoothed_{};
  Duration variation_{};
  Duration base_wait_ = std::chrono::milliseconds(16);  // until there is a measure
  Duration wait_ = base_wait_;
};

}  // namespace paravane::transport_roce
