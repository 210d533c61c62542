#include "subnet/asked_mads.h"

#include <algorithm>
#include <utility>

#include "wire/infiniband/mad.h"
#include "wire/roce/header_at.h"

namespace paravane::subnet {

bool AskedMads::add(std::uint64_t transaction, AskedMad asked, Instant now) {
  std::size_t& waiting = waiting_[asked.agent];
  if (asked_.size() >= kMost || waiting >= kMostOfAgent || asked_.contains(transaction))
    return false;
  const Instant due = now + std::max(asked.timeout, kShortest);
  asked_.emplace(transaction, Entry{.asked = std::move(asked), .due = due});
  ++waiting;
  deadlines_.insert({.due = due, .transaction = transaction});
  return true;
}

std::optional<AskedMad> AskedMads::take(std::uint64_t transaction, std::uint8_t management_class) {
  const auto found = asked_.find(transaction);
  if (found == asked_.end()) return std::nullopt;
  const auto header = wire::roce::header_at<wire::infiniband::MadHeader>(found->second.asked.mad);
  if (header.management_class != management_class) return std::nullopt;
  return remove(found);
}

AskedMad AskedMads::remove(Asked::iterator at) {
  deadlines_.erase({.due = at->second.due, .transaction = at->first});
  AskedMad asked = std::move(at->second.asked);
  asked_.erase(at);
  drop_one_of(asked.agent);
  return asked;
}

std::optional<AskedMads::Due> AskedMads::next_due(Instant now) {
  if (deadlines_.empty() || deadlines_.begin()->due > now) return std::nullopt;
  const auto found = asked_.find(deadlines_.begin()->transaction);
  AskedMad& asked = found->second.asked;
  if (asked.retries == 0) return Due{.asked = remove(found), .again = false};
  --asked.retries;
  deadlines_.erase(deadlines_.begin());
  found->second.due = now + std::max(asked.timeout, kShortest);
  deadlines_.insert({.due = found->second.due, .transaction = found->first});
  return Due{.asked = asked, .again = true};
}

Instant AskedMads::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->due;
}

void AskedMads::forget(AgentId agent) {
  std::erase_if(asked_, [this, agent](const auto& entry) {
    if (entry.second.asked.agent != agent) return false;
    deadlines_.erase({.due = entry.second.due, .transaction = entry.first});
    return true;
  });
  waiting_.erase(agent);
}

void AskedMads::drop_one_of(AgentId agent) {
  const auto found = waiting_.find(agent);
  if (found != waiting_.end() && --found->second == 0) waiting_.erase(found);
}

}  // namespace paravane::subnet
