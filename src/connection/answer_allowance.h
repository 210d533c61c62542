// AnswerAllowance: how many messages a second may be answered that ask for an answer without having
// been expected, so that a flood with a forged sender becomes no flood at that address.
//
// A plain value; the thread of its owner.

#pragma once

#include <chrono>

#include "base/instant.h"

namespace paravane::connection {

class AnswerAllowance {
 public:
  explicit constexpr AnswerAllowance(unsigned in_second) : in_second_(in_second) {}

  // Whether one more may be answered.
  bool take(Instant now) {
    if (now >= renews_at_) {
      left_ = in_second_;
      renews_at_ = now + std::chrono::seconds(1);
    }
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  unsigned in_second_;
  unsigned left_ = 0;
  Instant renews_at_ = Instant::min();
};

}  // namespace paravane::connection
