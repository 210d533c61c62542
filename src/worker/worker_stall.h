// WorkerStall makes the worker sleep at random times, to test what guests see on a busy host. It is
// enabled by [debug] in paravaned.toml, and off in normal operation.
//
// Worker thread only.

#pragma once

#include <cstdint>
#include <random>

#include "base/instant.h"

namespace paravane::worker {

struct StallConfig {
  Duration every{};    // mean time between two stalls; zero: off
  Duration longest{};  // each lasts a random part of this
  std::uint64_t seed = 1;
};

class WorkerStall {
 public:
  explicit WorkerStall(const StallConfig& config) : config_(config), random_(config.seed) {}

  // How long to sleep now; mostly zero.
  Duration due(Instant now) {
    if (config_.every == Duration::zero() || now < next_) return Duration::zero();
    const bool first = next_ == Instant{};
    next_ = now + pick(config_.every * 2);
    if (first) return Duration::zero();
    ++count_;
    return pick(config_.longest);
  }

  std::uint64_t count() const { return count_; }

 private:
  Duration pick(Duration longest) {
    return Duration(std::uniform_int_distribution<Duration::rep>(0, longest.count())(random_));
  }

  StallConfig config_;
  std::mt19937_64 random_;
  Instant next_{};
  std::uint64_t count_ = 0;
};

}  // namespace paravane::worker
