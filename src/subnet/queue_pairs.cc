#include "subnet/queue_pairs.h"

#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;

namespace {
constexpr std::uint32_t kEnd = wire::infiniband::kMulticastQueuePair;  // numbers are below it
}

std::optional<std::uint32_t> QueuePairs::make(const Facts& facts, DatagramReceiver& receiver,
                                              std::uint32_t wanted) {
  if (pairs_.size() >= kMost) return std::nullopt;
  const bool can_have = wanted >= kFirst && wanted < kEnd && !pairs_.contains(wanted);
  if (can_have) {
    pairs_.emplace(wanted, QueuePair{.facts = facts, .receiver = &receiver});
    return wanted;
  }
  while (pairs_.contains(next_)) next_ = next_ + 1 < kEnd ? next_ + 1 : kFirst;
  const std::uint32_t number = next_;
  next_ = next_ + 1 < kEnd ? next_ + 1 : kFirst;
  pairs_.emplace(number, QueuePair{.facts = facts, .receiver = &receiver});
  return number;
}

void QueuePairs::change(std::uint32_t queue_pair, const Facts& facts) {
  const auto found = pairs_.find(queue_pair);
  if (found != pairs_.end()) found->second.facts = facts;
}

void QueuePairs::destroy(std::uint32_t queue_pair) {
  pairs_.erase(queue_pair);
  std::erase_if(members_, [queue_pair](const auto& member) { return member.second == queue_pair; });
}

void QueuePairs::attach(std::uint32_t queue_pair, const Group& group) {
  if (pairs_.contains(queue_pair)) members_.emplace(group, queue_pair);
}

void QueuePairs::detach(std::uint32_t queue_pair, const Group& group) {
  members_.erase({group, queue_pair});
}

bool QueuePairs::listens_to(std::uint16_t multicast_lid) const {
  const auto first = members_.lower_bound({Group{.lid = multicast_lid}, 0});
  return first != members_.end() && first->first.lid == multicast_lid;
}

QueuePairs::Verdict QueuePairs::judge(const QueuePair& one, const DatagramHeaders& headers) {
  if (!wire::infiniband::let_pass(one.facts.partition, headers.partition))
    return Verdict::kBadPartition;
  return one.facts.qkey == headers.qkey ? Verdict::kDelivered : Verdict::kBadQkey;
}

QueuePairs::Verdict QueuePairs::deliver(const Datagram& packet) {
  const auto found = pairs_.find(packet.headers.destination_qp);
  if (found == pairs_.end()) return Verdict::kUnknown;
  const Verdict verdict = judge(found->second, packet.headers);
  if (verdict == Verdict::kDelivered) found->second.receiver->on_datagram(found->first, packet);
  return verdict;
}

std::size_t QueuePairs::deliver_multicast(const Datagram& packet) {
  if (!packet.headers.global) return 0;
  const Group group{.lid = packet.headers.destination, .gid = packet.headers.global->destination};
  // A receiver may destroy queue pairs: the members are gathered first.
  std::vector<std::uint32_t> members;
  for (auto i = members_.lower_bound({group, 0}); i != members_.end() && i->first == group; ++i)
    members.push_back(i->second);
  std::size_t delivered = 0;
  for (const std::uint32_t member : members) {
    const auto found = pairs_.find(member);
    if (found == pairs_.end() || judge(found->second, packet.headers) != Verdict::kDelivered)
      continue;
    found->second.receiver->on_datagram(member, packet);
    ++delivered;
  }
  return delivered;
}

}  // namespace paravane::subnet
