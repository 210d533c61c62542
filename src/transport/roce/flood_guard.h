// FloodGuard decides when a RoCE port is left alone because of frames that are of no use: for queue
// pairs that do not exist, from others than the peer, or broken ones. Anyone on the network can
// send them, each takes a system call to read, and the worker serves all VMs. What the port's queue
// cannot hold meanwhile is dropped by the kernel.
//
// All ports share an allowance of useless frames in a second. Each port has a small one of its own
// beside it, so that a flood at one port does not silence another at which something useless comes.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace paravane::transport_roce {

// So many in a second; unused ones are kept, up to a number.
class FrameAllowance {
 public:
  // What several ports have together.
  static constexpr std::int64_t kSharedPerSecond = 20'000;
  static constexpr std::int64_t kOwnPerSecond = 5'000;
  static constexpr std::int64_t kMostKept = 256;  // together, too

  bool is_left() const { return left_ > 0; }
  void spend(std::int64_t frames) { left_ -= frames; }
  void refill(Instant now, std::int64_t per_second, std::int64_t most) {
    if (refilled_ == Instant{}) {
      refilled_ = now;
      left_ = most;
    }
    const Duration for_one = std::chrono::nanoseconds(std::nano::den / per_second);
    const std::int64_t more = (now - refilled_) / for_one;
    refilled_ += more * for_one;
    left_ = std::min(left_ + more, most);
  }

 private:
  std::int64_t left_ = 0;
  Instant refilled_{};
};

class FloodGuard {
 public:
  // How long a port is left alone at a time.
  static constexpr Duration kRest = std::chrono::milliseconds(1);

  // `shared`: of all ports; it outlives the guard.
  explicit FloodGuard(FrameAllowance& shared) : shared_(shared) {}

  // `bytes`: of the frame, which the kernel has copied.
  void on_useless(std::size_t bytes) {
    constexpr std::size_t kLikeOneMore = 4096;
    const auto frames = static_cast<std::int64_t>(1 + bytes / kLikeOneMore);
    (shared_.is_left() ? shared_ : own_).spend(frames);
  }
  // `ports`: that there are.
  bool may_read(Instant now, std::size_t ports) {
    if (now == seen_) return resumes_ <= now && is_left();
    seen_ = now;
    if (resumes_ > now) return false;
    const auto all = static_cast<std::int64_t>(std::max<std::size_t>(ports, 1));
    shared_.refill(now, FrameAllowance::kSharedPerSecond, FrameAllowance::kMostKept);
    own_.refill(now, std::max<std::int64_t>(FrameAllowance::kOwnPerSecond / all, 1),
                std::max<std::int64_t>(FrameAllowance::kMostKept / all, 1));
    return is_left();
  }
  // When may_read() can say yes again; not later than now: it does.
  Instant resumes() const { return resumes_; }

 private:
  bool is_left() {
    if (shared_.is_left() || own_.is_left()) return true;
    resumes_ = seen_ + kRest;
    return false;
  }

  FrameAllowance& shared_;
  FrameAllowance own_;
  Instant seen_{};
  Instant resumes_{};
};

}  // namespace paravane::transport_roce
