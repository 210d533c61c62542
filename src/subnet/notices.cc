#include "subnet/notices.h"

#include <algorithm>

namespace paravane::subnet {

using wire::infiniband::Notice;

void Notices::tell(const Notice& notice, Instant now) {
  Instant at = now;
  Instant sent = Instant::min();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.due.notice.trap != notice.trap || waiting.due.notice.details != notice.details)
      return false;
    sent = waiting.sent;
    at = std::max(at, sent + kFirstPause);
    return true;
  });
  if (waiting_.size() >= kMost) waiting_.erase(waiting_.begin());
  waiting_.push_back({.due = {.transaction = next_transaction_++, .notice = notice},
                      .at = at,
                      .pause = kFirstPause,
                      .sent = sent});
}

void Notices::repress(std::uint64_t transaction) {
  std::erase_if(waiting_, [transaction](const Waiting& waiting) {
    return waiting.due.transaction == transaction;
  });
}

void Notices::tell_again(Instant now) {
  for (Waiting& waiting : waiting_) {
    waiting.at = now;
    waiting.pause = kFirstPause;
  }
}

std::vector<Notices::Due> Notices::take_due(Instant now) {
  std::vector<Due> due;
  for (Waiting& waiting : waiting_) {
    if (waiting.at > now) continue;
    due.push_back(waiting.due);
    waiting.sent = now;
    waiting.at = now + waiting.pause;
    waiting.pause = std::min(waiting.pause * 2, kLongestPause);
  }
  return due;
}

Instant Notices::next_deadline() const {
  Instant next = kNever;
  for (const Waiting& waiting : waiting_) next = std::min(next, waiting.at);
  return next;
}

}  // namespace paravane::subnet
