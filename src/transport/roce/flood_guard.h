// FloodGuard decides how long a RoCE port is left alone after frames that are of no use: for queue
// pairs that do not exist, from others than the peer, or broken ones. Anyone on the network can
// send them, each takes a system call to read, and the worker serves all VMs. What the port's queue
// cannot hold meanwhile is dropped by the kernel.
//
// The guard allows a number of useless frames in a second, shared by all ports. A port that has
// used up its part is read again when there is room for a few.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/instant.h"

namespace paravane::transport_roce {

class FloodGuard {
 public:
  // Of all ports together. One takes about 3 us to read and to judge, so it is less than a tenth of
  // the worker's time.
  static constexpr std::int64_t kUselessPerSecond = 25'000;
  static constexpr std::int64_t kAtOnce = 256;   // of a port that was left in peace
  static constexpr std::int64_t kToResume = 32;  // so many are allowed when reading begins again

  void on_useless() { --left_; }
  // `ports`: that there are.
  bool may_read(Instant now, std::size_t ports) {
    if (now != seen_) refill(now, static_cast<std::int64_t>(std::max<std::size_t>(ports, 1)));
    if (left_ <= 0 && resumes_ <= now) {
      resumes_ = now + (kToResume - left_) * time_for_one_;
    }
    return resumes_ <= now;
  }
  // When may_read() will say yes; not later than now: it does.
  Instant resumes() const { return resumes_; }

 private:
  void refill(Instant now, std::int64_t ports) {
    time_for_one_ = std::chrono::nanoseconds(std::nano::den * ports / kUselessPerSecond);
    if (seen_ == Instant{}) refilled_ = now;
    seen_ = now;
    const std::int64_t more = (now - refilled_) / time_for_one_;
    if (more <= 0) return;
    refilled_ += more * time_for_one_;
    left_ = std::min(left_ + more, kAtOnce);
  }

  std::int64_t left_ = kAtOnce;
  Instant seen_{};
  Instant refilled_{};
  Instant resumes_{};
  Duration time_for_one_{};
};

}  // namespace paravane::transport_roce
