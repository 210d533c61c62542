#include "subnet/asked_mads.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "base/memory_shortage.h"
#include "wire/infiniband/mad.h"
#include "wire/roce/header_at.h"

namespace paravane::subnet {

bool AskedMads::add(std::uint64_t transaction, AskedMad asked, Instant now) {
  assert(transaction >> 32 == std::to_underlying(asked.agent));
  std::size_t& waiting = waiting_[asked.agent];
  if (asked_.size() >= kMost || waiting >= kMostOfAgent || asked_.contains(transaction))
    return false;
  const Instant due = now + std::max(asked.timeout, kShortest);
  const auto deadline = deadlines_.insert({.due = due, .transaction = transaction}).first;
  const bool had_memory = runs_in_memory(
      [&] { asked_.emplace(transaction, Entry{.asked = std::move(asked), .due = due}); });
  if (!had_memory) {
    deadlines_.erase(deadline);
    throw std::bad_alloc();
  }
  ++waiting;
  return true;
}

std::optional<AskedMads::Taken> AskedMads::take(std::uint64_t transaction,
                                                std::uint8_t management_class) {
  const auto found = asked_.find(transaction);
  if (found == asked_.end()) return std::nullopt;
  const auto header = wire::roce::header_at<wire::infiniband::MadHeader>(found->second.asked.mad);
  if (header.management_class != management_class) return std::nullopt;
  return remove(found);
}

AskedMads::Taken AskedMads::remove(Asked::iterator at) {
  Taken taken;
  taken.deadline_ = deadlines_.extract({.due = at->second.due, .transaction = at->first});
  taken.entry_ = asked_.extract(at);
  --waiting_.find(taken->agent)->second;
  return taken;
}

void AskedMads::put_back(Taken taken) {
  const auto waiting = waiting_.find(taken->agent);
  if (waiting == waiting_.end() || !asked_.insert(std::move(taken.entry_)).inserted) return;
  deadlines_.insert(std::move(taken.deadline_));
  ++waiting->second;
}

std::optional<AskedMads::Due> AskedMads::next_due(Instant now) {
  if (deadlines_.empty() || deadlines_.begin()->due > now) return std::nullopt;
  const auto found = asked_.find(deadlines_.begin()->transaction);
  AskedMad& asked = found->second.asked;
  Due due{.asked = asked, .again = asked.retries > 0};
  if (!due.again) {
    due.given_up = remove(found);
    return due;
  }
  due.asked.retries = --asked.retries;
  auto deadline = deadlines_.extract(deadlines_.begin());
  found->second.due = deadline.value().due = now + std::max(asked.timeout, kShortest);
  deadlines_.insert(std::move(deadline));
  return due;
}

Instant AskedMads::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->due;
}

void AskedMads::forget(AgentId agent) {
  const auto first = asked_.lower_bound(std::uint64_t{std::to_underlying(agent)} << 32);
  auto end = first;
  for (; end != asked_.end() && end->second.asked.agent == agent; ++end)
    deadlines_.erase({.due = end->second.due, .transaction = end->first});
  asked_.erase(first, end);
  waiting_.erase(agent);
}

}  // namespace paravane::subnet
