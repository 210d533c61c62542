// Holds keeps which other hosts are waited for. A host that changes its engine asks for it
// beforehand, in its channel; until its channel is there again, requests to it spend no retries.
//
// A host may be hostile, so the time is bounded: kMost within any kWithin, in kMostParts parts at
// most, however often it asks. A host that only ever asks is given up as one that is dead, after
// kMost. Nothing that it says can hold requests to another host.
//
// An engine that has just taken over waits for all hosts, whose channels it makes anew, for a time
// of its own.
//
// Owner thread only. Reads no clock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "base/counter.h"
#include "base/instant.h"
#include "verbs/fabric_port.h"

namespace paravane::transport_channel {

struct HoldNews {
  enum class What : std::uint8_t {
    kBegun,
    kRefused,  // it has asked for more than it may have; told once in kWithin
    kOver,     // the time is over, and the host is not there
    kAllOver,  // likewise of begin_all(); of no host
  };
  What what{};
  verbs::HostId host{};
  Duration time{};  // kBegun: for which it is waited for
};

struct HoldCounters {
  CounterSet set;
  Counter begun{set, "begun", "times another host asked to be waited for, and is"};
  Counter refused{set, "refused", "times another host asked for more than it may have"};
  Counter over{set, "over", "times another host was not there when the time was over"};
};

class Holds {
 public:
  static constexpr Duration kMost = std::chrono::seconds(30);
  static constexpr Duration kWithin = std::chrono::seconds(60);
  static constexpr std::size_t kMostParts = 16;

  // `tell`: null: nothing is told.
  explicit Holds(std::function<void(const HoldNews&)> tell = nullptr) : tell_(std::move(tell)) {}

  // The host asks to be waited for from now on. Returns for how long it is; zero: not at all.
  // Replaces what it has asked for before.
  Duration begin(verbs::HostId host, Duration wanted, Instant now);
  // The host is there, or takes back what it asked for.
  void end(verbs::HostId host, Instant now);
  // Waits for each host until end(), whatever it asks for. REQUIRES: called once.
  void begin_all(Duration time, Instant now);

  bool is_held(verbs::HostId host) const;
  // Whether all hosts are waited for that were not there yet.
  bool holds_all() const { return all_until_ != kNever; }

  // Ends what is due.
  void run_due(Instant now);
  Instant next_due() const;

  // The host is no member any more.
  void forget(verbs::HostId host) { hosts_.erase(host); }

  const HoldCounters& counters() const { return counters_; }

 private:
  struct Part {
    Instant from;
    Instant to;
  };
  struct Host {
    std::deque<Part> parts{};  // that are over, of the last kWithin
    Instant since{};           // of the one that is not
    Instant until = kNever;    // kNever: none
    Instant refusal_told = kNever;
  };

  static Duration left_of(const Host& host, Instant now);
  static void end_part(Host& host, Instant now);
  void tell(HoldNews::What what, verbs::HostId host, Duration time = {}) const;

  std::function<void(const HoldNews&)> tell_;
  HoldCounters counters_;
  std::map<verbs::HostId, Host> hosts_;
  Instant all_until_ = kNever;     // kNever: not all
  std::set<verbs::HostId> there_;  // with all: those that have come
};

}  // namespace paravane::transport_channel
