#include "ipoib/sender_groups.h"

#include <iterator>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::ipoib {

using wire::infiniband::Gid;
using wire::infiniband::MulticastMember;

SenderGroups::~SenderGroups() {
  while (!by_use_.empty()) leave(by_use_.begin());
}

const BroadcastGroup* SenderGroups::find(const GroupName& name, const BroadcastGroup& broadcast) {
  if (asks_for_a_node(name)) return nullptr;
  Entry& entry = use(gid_of(name, broadcast.partition), broadcast);
  const bool is_due = entry.question == QuestionId::kNone && clock_.now >= entry.asked_until;
  if (is_due && asked_ < kMostAsked && !allowance_.is_spent(clock_.now)) ask(entry);
  return entry.group ? &*entry.group : nullptr;
}

SenderGroups::Entry& SenderGroups::use(const Gid& gid, const BroadcastGroup& broadcast) {
  if (const auto found = entries_.find(gid); found != entries_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    Entry& entry = *found->second;
    entry.last_used = clock_.now;
    if (entry.broadcast != broadcast) {
      cancel(entry);
      entry.broadcast = broadcast;
      entry.group.reset();
      entry.asked_until = Instant::min();
    }
    return entry;
  }
  if (entries_.size() >= kMost) leave(std::prev(by_use_.end()));
  // Made apart: without memory nothing is half made.
  Order fresh;
  fresh.push_back({.gid = gid, .broadcast = broadcast, .last_used = clock_.now});
  entries_.emplace(gid, fresh.begin());
  by_use_.splice(by_use_.begin(), fresh);
  return by_use_.front();
}

void SenderGroups::ask(Entry& entry) {
  allowance_.spend(clock_.now);
  // Without memory for the question.
  entry.asked_until = clock_.now + kLife;
  if (!entry.is_user) uses_.add({.gid = entry.gid, .is_send_only = true});
  entry.is_user = true;
  const auto asked =
      client_.join(entry.gid, full_key_of(entry.broadcast), /*send_only=*/true,
                   [this, gid = entry.gid](const auto& answer) { take(gid, answer); });
  if (!asked) return;
  entry.question = *asked;
  ++asked_;
}

void SenderGroups::take(const Gid& gid,
                        const AdministrationClient::Answer<MulticastMember>& answer) {
  Entry& entry = *entries_.at(gid);
  entry.question = QuestionId::kNone;
  --asked_;
  entry.asked_until = clock_.now + kLife;
  if (answer) {
    entry.group = read_group_like(*answer, entry.broadcast);
    return;
  }
  // Without an answer, that which was known may still lead there.
  if (answer.error().cause == AdministrationFailure::Cause::kRefused) entry.group.reset();
}

void SenderGroups::cancel(Entry& entry) {
  if (entry.question == QuestionId::kNone) return;
  client_.cancel(std::exchange(entry.question, QuestionId::kNone));
  --asked_;
}

void SenderGroups::leave(Order::iterator at) {
  const bool was_user = std::exchange(at->is_user, false);
  if (was_user && uses_.remove({.gid = at->gid, .is_send_only = true})) {
    // Without memory it stays a member until the port goes.
    (void)runs_in_memory(
        [&] { client_.leave(at->gid, full_key_of(at->broadcast), /*send_only=*/true); });
  }
  cancel(*at);
  entries_.erase(at->gid);
  by_use_.erase(at);
}

void SenderGroups::forget(const BroadcastGroup& broadcast) {
  for (auto at = by_use_.begin(); at != by_use_.end();) {
    const auto next = std::next(at);
    if (full_key_of(at->broadcast) == full_key_of(broadcast)) leave(at);
    at = next;
  }
}

void SenderGroups::ask_again() {
  for (Entry& entry : by_use_) {
    cancel(entry);
    // It may have another LID now.
    entry.group.reset();
    entry.asked_until = clock_.now;
  }
}

void SenderGroups::on_time(Instant now) {
  while (!by_use_.empty() && by_use_.back().last_used + kIdle <= now)
    leave(std::prev(by_use_.end()));
}

Instant SenderGroups::next_deadline() const {
  return by_use_.empty() ? kNever : by_use_.back().last_used + kIdle;
}

}  // namespace paravane::ipoib
