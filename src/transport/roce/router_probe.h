// RouterProbe asks whether RoCE v2 gets through the routers to one adapter in another network, and
// back. A packet goes there each second (wire/roce/probe.h); the other engine answers it to where
// it came from. As many as kMostMissing without an answer, one after the other, mean that nothing
// gets through. That is for people to read: the packets of connections leave all the same.
//
// An answer counts if it repeats the number of a probe that is not answered yet, each once.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "verbs/types.h"
#include "wire/roce/headers.h"
#include "wire/roce/probe.h"

namespace paravane::transport_roce {

// A way through routers, as the address of a queue pair has it.
struct RouterWay {
  verbs::Gid own;
  verbs::Gid peer;
  wire::roce::MacBytes gateway{};
  std::uint8_t hop_limit = 0;

  friend bool operator==(const RouterWay&, const RouterWay&) = default;
};

enum class ProbeState : std::uint8_t {
  kNone,        // nothing has used the way yet
  kRefused,     // as many ways are probed as may be
  kAwaited,     // probes are under way, and none was answered yet
  kAnswered,    // the last ones were answered
  kUnanswered,  // the last kMostMissing were not
};

struct ProbeReport {
  RouterWay way{};
  ProbeState state = ProbeState::kNone;
  // A packet of a connection came from the peer, since the first probe that was not answered.
  bool hears_peer = false;
};

class RouterProbe {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr std::size_t kMostMissing = 3;

  // The first probe is due at `now`. `network`: RoCE v2.
  RouterProbe(const RouterWay& way, wire::roce::Network network, Instant now)
      : way_(way), network_(network), due_(now), heard_(now - kHeardFor) {}

  const RouterWay& way() const { return way_; }
  wire::roce::Network network() const { return network_; }
  ProbeState state() const { return state_; }
  ProbeReport report(Instant now) const {
    return {.way = way_, .state = state_, .hears_peer = now - heard_ < kHeardFor};
  }

  // When begin() must be called next.
  Instant due() const { return due_; }
  // The time of the next probe has come. Judges those that were sent before.
  void begin(Instant now) {
    due_ = now + kEvery;
    if (missing_.size() == kMostMissing) state_ = ProbeState::kUnanswered;
  }
  void on_sent(const wire::roce::ProbeNonce& nonce) {
    if (missing_.size() == kMostMissing) missing_.erase(missing_.begin());
    missing_.push_back(nonce);
  }
  // False: it is the number of no probe, or of one that was answered.
  bool on_answer(const wire::roce::ProbeNonce& nonce) {
    if (std::ranges::find(missing_, nonce) == missing_.end()) return false;
    missing_.clear();
    state_ = ProbeState::kAnswered;
    return true;
  }
  // A packet of a connection has come from the peer.
  void on_packet(Instant now) { heard_ = now; }

  // Nothing probes the way any more; what uses it may begin anew.
  bool is_over() const { return is_over_; }
  void end() { is_over_ = true; }

 private:
  // Less than kUnanswered takes, so that what came before does not count.
  static constexpr Duration kHeardFor = kEvery * (kMostMissing - 1);

  const RouterWay way_;
  const wire::roce::Network network_;
  ProbeState state_ = ProbeState::kAwaited;
  Instant due_;
  Instant heard_;
  std::vector<wire::roce::ProbeNonce> missing_;  // of the last probes; none was answered
  bool is_over_ = false;
};

}  // namespace paravane::transport_roce
