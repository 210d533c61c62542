#include "subnet_host/lost_uplinks.h"

#include <algorithm>

#include "base/doubled_pause.h"

namespace paravane::subnet_host {

void LostUplinks::lost(const std::string& uplink, Instant now) {
  Loss& loss = losses_[uplink];
  if (loss.due != kNever) return;
  if (now - loss.told >= kCalm) loss.pause = Duration::zero();
  loss.due = std::max(now, loss.told + loss.pause);
  loss.pause = doubled_pause(loss.pause, kFirstPause, kLastPause);
}

void LostUplinks::cancel(const std::string& uplink) {
  if (const auto found = losses_.find(uplink); found != losses_.end()) found->second.due = kNever;
}

const std::string* LostUplinks::take_due(Instant now) {
  for (auto& [uplink, loss] : losses_) {
    if (now < loss.due) continue;
    loss.due = kNever;
    loss.told = now;
    return &uplink;
  }
  return nullptr;
}

Instant LostUplinks::next_deadline() const {
  Instant next = kNever;
  for (const auto& [uplink, loss] : losses_) next = std::min(next, loss.due);
  return next;
}

}  // namespace paravane::subnet_host
