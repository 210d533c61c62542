#include "subnet/asked_mads.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "base/memory_shortage.h"
#include "wire/infiniband/local_route.h"
#include "wire/infiniband/mad.h"
#include "wire/infiniband/subnet_management.h"
#include "wire/roce/header_at.h"

namespace paravane::subnet {
namespace {

// Of a request and of what came back.
bool is_same_route(std::span<const std::byte> request, std::span<const std::byte> answer) {
  using wire::infiniband::SubnetManagementPacket;
  if (request.size() < sizeof(SubnetManagementPacket) ||
      answer.size() < sizeof(SubnetManagementPacket))
    return false;
  const auto there = wire::roce::header_at<SubnetManagementPacket>(request);
  const auto back = wire::roce::header_at<SubnetManagementPacket>(answer);
  const auto hops = [](const SubnetManagementPacket& smp) {
    return smp.header.class_specific.get() & 0xFF;
  };
  return hops(there) == hops(back) && there.source.get() == back.source.get() &&
         there.destination.get() == back.destination.get() &&
         std::equal(there.initial_path.begin() + 1,
                    there.initial_path.begin() + 1 + std::min(hops(there), 63),
                    back.initial_path.begin() + 1);
}

bool is_answer_to(const AskedMad& asked, std::uint8_t management_class, const MadAddress& from,
                  std::span<const std::byte> mad) {
  const auto header = wire::roce::header_at<wire::infiniband::MadHeader>(asked.mad);
  if (header.management_class != management_class) return false;
  if (management_class == wire::infiniband::management_class::kSubnetByRoute)
    return is_same_route(asked.mad, mad);
  // To the permissive LID: to whatever is at the other end of the link.
  const bool is_from_there =
      from.lid == asked.to.lid || asked.to.lid == wire::infiniband::kPermissiveLid;
  if (management_class == wire::infiniband::management_class::kSubnetByLid) return is_from_there;
  const bool is_gid_right =
      !asked.to.global || (from.global && from.global->destination == asked.to.global->destination);
  return is_from_there && from.qp == asked.to.qp && is_gid_right;
}

}  // namespace

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
                                                std::uint8_t management_class,
                                                const MadAddress& from,
                                                std::span<const std::byte> mad) {
  const auto found = asked_.find(transaction);
  if (found == asked_.end()) return std::nullopt;
  if (!is_answer_to(found->second.asked, management_class, from, mad)) return std::nullopt;
  return remove(found);
}

std::optional<AskedMads::Taken> AskedMads::take_back(std::uint64_t transaction) {
  const auto found = asked_.find(transaction);
  if (found == asked_.end()) return std::nullopt;
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
