// CompletionInbox is the completion queue of a queue pair of a host service. It holds completions
// until its owner takes them in its own turn, because a peer's turn may push them. The requests
// that are posted bound their number.
//
// Owner thread only.

#pragma once

#include <deque>
#include <optional>

#include "verbs/completion.h"

namespace paravane::host_verbs {

class CompletionInbox final : public verbs::CompletionQueue {
 public:
  bool push(const verbs::Completion& completion, verbs::Reveal /*when*/) override {
    completions_.push_back(completion);
    return true;
  }
  void reveal() override {}

  bool empty() const { return completions_.empty(); }
  std::optional<verbs::Completion> take() {
    if (completions_.empty()) return std::nullopt;
    const verbs::Completion first = completions_.front();
    completions_.pop_front();
    return first;
  }

 private:
  std::deque<verbs::Completion> completions_;
};

}  // namespace paravane::host_verbs
