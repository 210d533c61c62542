// HiddenCompletions remembers the completion queue to which completions were pushed that its guest
// does not see yet (Reveal::kSoon), and shows them at its end at the latest, also when an exception
// ends the turn. With them the guest gets back the slots of receives that were taken in passing
// (WorkSource).
//
// The fast paths use it for the completions of receives. One store of a queue's index for several
// short messages saves much of their cost. Only one queue at a time has hidden completions, so a
// program never sees a completion before an earlier one of the same sender.
//
// Owner thread only.

#pragma once

#include <utility>

#include "verbs/completion.h"

namespace paravane::verbs {

class HiddenCompletions {
 public:
  HiddenCompletions() = default;
  // CompletionQueue::reveal() takes no memory that it could lack, and does not throw.
  ~HiddenCompletions() { show(); }
  HiddenCompletions(const HiddenCompletions&) = delete;
  HiddenCompletions& operator=(const HiddenCompletions&) = delete;

  // Call this before a receive is taken that completes in `queue`, which outlives this object.
  // Shows those of another queue.
  void begin(CompletionQueue& queue) {
    if (queue_ == &queue) return;
    show();
    queue_ = &queue;
  }
  void show() {
    if (queue_ != nullptr) std::exchange(queue_, nullptr)->reveal();
  }

 private:
  CompletionQueue* queue_ = nullptr;
};

}  // namespace paravane::verbs
