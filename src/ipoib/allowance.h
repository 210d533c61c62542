// Allowance: how many questions of a kind may be asked in a second, so that VMs that decide what is
// asked do not keep subnet administration busy.
//
// A plain value; the thread of its owner.

#pragma once

#include <chrono>

#include "base/instant.h"

namespace paravane::ipoib {

class Allowance {
 public:
  explicit constexpr Allowance(unsigned in_second) : in_second_(in_second), left_(in_second) {}

  bool is_spent(Instant now) const { return left_ == 0 && now < renews_at_; }
  // When it is to be had again, if it is spent.
  Instant renewal() const { return renews_at_; }
  // REQUIRES: !is_spent(now).
  void spend(Instant now) {
    if (now >= renews_at_) {
      left_ = in_second_;
      renews_at_ = now + std::chrono::seconds(1);
    }
    --left_;
  }

 private:
  unsigned in_second_;
  unsigned left_;
  Instant renews_at_ = Instant::min();
};

}  // namespace paravane::ipoib
