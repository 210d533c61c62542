#include "subnet/asked_mads.h"

#include <algorithm>
#include <utility>

namespace paravane::subnet {

bool AskedMads::add(std::uint64_t transaction, AskedMad asked, Instant now) {
  std::size_t& waiting = waiting_[asked.agent];
  if (waiting >= kMostOfAgent || asked_.contains(transaction)) return false;
  const Instant due = now + std::max(asked.timeout, kShortest);
  asked_.emplace(transaction, Entry{.asked = std::move(asked), .due = due});
  ++waiting;
  deadlines_.push({.due = due, .transaction = transaction});
  return true;
}

std::optional<AskedMad> AskedMads::take(std::uint64_t transaction) {
  const auto found = asked_.find(transaction);
  if (found == asked_.end()) return std::nullopt;
  AskedMad asked = std::move(found->second.asked);
  asked_.erase(found);
  drop_one_of(asked.agent);
  return asked;
}

std::optional<AskedMads::Due> AskedMads::next_due(Instant now) {
  while (!deadlines_.empty() && deadlines_.top().due <= now) {
    const Deadline deadline = deadlines_.top();
    deadlines_.pop();
    const auto found = asked_.find(deadline.transaction);
    if (found == asked_.end() || found->second.due != deadline.due) continue;
    AskedMad& asked = found->second.asked;
    if (asked.retries == 0) return Due{.asked = *take(deadline.transaction), .again = false};
    --asked.retries;
    found->second.due = now + std::max(asked.timeout, kShortest);
    deadlines_.push({.due = found->second.due, .transaction = deadline.transaction});
    return Due{.asked = asked, .again = true};
  }
  return std::nullopt;
}

Instant AskedMads::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.top().due;
}

void AskedMads::forget(AgentId agent) {
  std::erase_if(asked_, [agent](const auto& entry) { return entry.second.asked.agent == agent; });
  waiting_.erase(agent);
}

void AskedMads::drop_one_of(AgentId agent) {
  const auto found = waiting_.find(agent);
  if (found != waiting_.end() && --found->second == 0) waiting_.erase(found);
}

}  // namespace paravane::subnet
