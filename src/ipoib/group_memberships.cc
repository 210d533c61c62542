#include "ipoib/group_memberships.h"

#include <algorithm>
#include <utility>

#include "base/doubled_pause.h"
#include "base/memory_shortage.h"
#include "ipoib/confirmation.h"

namespace paravane::ipoib {

using wire::infiniband::Gid;
using wire::infiniband::MulticastMember;

namespace {

bool is_like(const BroadcastGroup& group, const GroupName& name, const BroadcastGroup& broadcast) {
  return group.gid == gid_of(name, broadcast.partition) && group.partition == broadcast.partition &&
         group.qkey == broadcast.qkey && group.mtu == broadcast.mtu;
}

}  // namespace

GroupMemberships::~GroupMemberships() {
  for (auto& [key, entry] : entries_) {
    // Without memory it stays a member until the port goes.
    (void)runs_in_memory([&] { leave(key, entry); });
    cancel(entry);
  }
}

const GroupMemberships::Partition* GroupMemberships::partition_of(std::uint16_t vlan) const {
  const auto found = partitions_.find(vlan);
  return found == partitions_.end() ? nullptr : &found->second;
}

void GroupMemberships::start(std::uint16_t vlan, const BroadcastGroup& broadcast,
                             std::uint32_t listener) {
  const Partition* before = partition_of(vlan);
  // What was joined by other facts is joined anew.
  if (before != nullptr && before->broadcast != broadcast) stop(vlan);
  const bool is_new = partition_of(vlan) == nullptr;
  partitions_[vlan] = {.broadcast = broadcast, .listener = listener};
  for (auto& [key, entry] : entries_) {
    if (key.vlan != vlan) continue;
    if (is_new) plan(entry, clock_.now);
    if (entry.group && !is_like(*entry.group, key.name, broadcast)) entry.group.reset();
    if (entry.group)
      queue_pairs_.attach(listener, {.lid = entry.group->lid, .gid = entry.group->gid});
  }
}

void GroupMemberships::stop(std::uint16_t vlan) {
  const auto partition = partitions_.find(vlan);
  if (partition == partitions_.end()) return;
  for (auto& [key, entry] : entries_) {
    if (key.vlan != vlan) continue;
    // Without memory it stays a member until the port goes.
    (void)runs_in_memory([&] { leave(key, entry); });
    lose(partition->second, entry);
    cancel(entry);
    entry = {};
  }
  partitions_.erase(partition);
}

void GroupMemberships::forget(std::uint16_t vlan) {
  stop(vlan);
  std::erase_if(entries_, [vlan](const auto& entry) { return entry.first.vlan == vlan; });
}

void GroupMemberships::add(const VlanGroup& group) {
  const auto [place, is_new] = entries_.try_emplace(group);
  if (is_new && partition_of(group.vlan) != nullptr) plan(place->second, clock_.now);
}

void GroupMemberships::adopt(const VlanGroup& group, const BroadcastGroup& joined) {
  entries_[group].group = joined;
}

std::vector<std::pair<VlanGroup, BroadcastGroup>> GroupMemberships::all_joined() const {
  std::vector<std::pair<VlanGroup, BroadcastGroup>> all;
  for (const auto& [key, entry] : entries_) {
    if (entry.group) all.emplace_back(key, *entry.group);
  }
  return all;
}

void GroupMemberships::remove(const VlanGroup& group) {
  const auto found = entries_.find(group);
  if (found == entries_.end()) return;
  (void)runs_in_memory([&] { leave(group, found->second); });
  if (const Partition* partition = partition_of(group.vlan)) lose(*partition, found->second);
  cancel(found->second);
  entries_.erase(found);
}

const BroadcastGroup* GroupMemberships::find(const VlanGroup& group) const {
  const auto found = entries_.find(group);
  return found == entries_.end() || !found->second.group ? nullptr : &*found->second.group;
}

void GroupMemberships::register_again() {
  for (auto& [key, entry] : entries_) {
    if (partition_of(key.vlan) == nullptr) continue;
    // The group stays in use meanwhile.
    cancel(entry);
    entry.retry = kFirstRetry;
    plan(entry, clock_.now);
  }
}

// ---- Joining ----

void GroupMemberships::plan(Entry& entry, Instant due) {
  entry.due = due;
  next_ = std::min(next_, due);
}

void GroupMemberships::on_time(Instant now) {
  if (now < next_ || asked_ >= kMostAsked || allowance_.is_spent(now)) return;
  Instant next = kNever;
  for (auto& [key, entry] : entries_) {
    const bool may_ask = asked_ < kMostAsked && !allowance_.is_spent(now);
    const Partition* partition = partition_of(key.vlan);
    if (entry.due <= now && may_ask && partition != nullptr) ask(key, entry, partition->broadcast);
    next = std::min(next, entry.due);
  }
  next_ = next;
}

Instant GroupMemberships::next_deadline() const {
  if (next_ > clock_.now) return next_;
  // An answer makes room.
  if (asked_ >= kMostAsked) return kNever;
  return allowance_.is_spent(clock_.now) ? allowance_.renewal() : next_;
}

void GroupMemberships::find_next() {
  next_ = kNever;
  for (const auto& [key, entry] : entries_) next_ = std::min(next_, entry.due);
}

void GroupMemberships::ask(const VlanGroup& key, Entry& entry, const BroadcastGroup& broadcast) {
  allowance_.spend(clock_.now);
  // Without memory for the question.
  plan(entry, clock_.now + entry.retry);
  const Gid gid = gid_of(key.name, broadcast.partition);
  if (!entry.is_user) uses_.add({.gid = gid});
  entry.is_user = true;
  const auto asked =
      client_.join_or_make(gid, broadcast, [this, key](const auto& answer) { take(key, answer); });
  if (!asked) return retry_later(entry);
  entry.question = *asked;
  entry.due = kNever;
  ++asked_;
}

void GroupMemberships::retry_later(Entry& entry) {
  plan(entry, clock_.now + entry.retry);
  entry.retry = doubled_pause(entry.retry, kFirstRetry, kLastRetry);
}

void GroupMemberships::take(const VlanGroup& key,
                            const AdministrationClient::Answer<MulticastMember>& answer) {
  Entry& entry = entries_.at(key);
  const Partition& partition = partitions_.at(key.vlan);
  entry.question = QuestionId::kNone;
  --asked_;
  if (!answer) {
    // As in Membership.
    const bool is_refused = answer.error().cause == AdministrationFailure::Cause::kRefused;
    if (is_refused && std::exchange(entry.was_refused, true)) lose(partition, entry);
    return retry_later(entry);
  }
  const auto group = read_group_like(*answer, partition.broadcast);
  if (!group || entry.group != *group) lose(partition, entry);
  if (!group) return retry_later(entry);
  // Without memory to hear it.
  plan(entry, clock_.now + entry.retry);
  queue_pairs_.attach(partition.listener, {.lid = group->lid, .gid = group->gid});
  entry.group = *group;
  entry.retry = kFirstRetry;
  entry.was_refused = false;
  entry.due = clock_.now + kConfirmAfter;
  find_next();
}

void GroupMemberships::lose(const Partition& partition, Entry& entry) {
  if (!entry.group) return;
  queue_pairs_.detach(partition.listener, {.lid = entry.group->lid, .gid = entry.group->gid});
  entry.group.reset();
}

void GroupMemberships::leave(const VlanGroup& key, Entry& entry) {
  const Partition* partition = partition_of(key.vlan);
  if (partition == nullptr || !std::exchange(entry.is_user, false)) return;
  const std::uint16_t full = full_key_of(partition->broadcast);
  const Gid gid = gid_of(key.name, full);
  if (uses_.remove({.gid = gid})) client_.leave(gid, full, /*send_only=*/false);
}

void GroupMemberships::cancel(Entry& entry) {
  if (entry.question == QuestionId::kNone) return;
  client_.cancel(std::exchange(entry.question, QuestionId::kNone));
  --asked_;
}

}  // namespace paravane::ipoib
