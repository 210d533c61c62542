// MessageBudget: how many messages all MAD lines of one program may have read in a turn of the
// subnet's thread, so that a program with many lines does not hold up those with one, and many
// programs do not hold up the thread. What is not read waits in the program's socket.
//
// The subnet's thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace paravane::umad {

class MessageBudget {
 public:
  static constexpr unsigned kMost = 64;
  static constexpr unsigned kMostOfAll = 512;  // programs together

  // The turn, as the owner of all budgets counts it.
  struct Turn {
    std::uint64_t number = 0;  // 0: turns are not counted, and there is no bound
    unsigned share = kMost;    // of each program
  };

  // The share of each of so many programs.
  static constexpr unsigned share_of(std::size_t programs) {
    const auto share = static_cast<unsigned>(kMostOfAll / std::max<std::size_t>(programs, 1));
    return std::clamp(share, 1U, kMost);
  }

  // `turn` outlives us.
  explicit MessageBudget(const Turn& turn) : turn_(turn) {}

  // False: it is used up for this turn.
  bool take() {
    if (turn_.number == 0) return true;
    if (seen_ != turn_.number) left_ = turn_.share;
    seen_ = turn_.number;
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  const Turn& turn_;
  std::uint64_t seen_ = 0;
  unsigned left_ = 0;
};

}  // namespace paravane::umad
