// MessageBudget: how many messages all MAD lines of one program may have read in a turn of the
// subnet's thread, so that a program with many lines does not hold up those with one. What is not
// read waits in the program's socket.
//
// The subnet's thread only.

#pragma once

#include <cstdint>

namespace paravane::umad {

class MessageBudget {
 public:
  static constexpr unsigned kMost = 64;

  // `turn`: the number of the turn, counted by its owner, which outlives us; 0: turns are not
  // counted, and there is no bound.
  explicit MessageBudget(const std::uint64_t& turn) : turn_(turn) {}

  // False: it is used up for this turn.
  bool take() {
    if (turn_ == 0) return true;
    if (seen_ != turn_) left_ = kMost;
    seen_ = turn_;
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  const std::uint64_t& turn_;
  std::uint64_t seen_ = 0;
  unsigned left_ = 0;
};

}  // namespace paravane::umad
