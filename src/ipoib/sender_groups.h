// SenderGroups: where packets to an IP multicast group go. A group that exists in the subnet is
// joined to send to it alone (RFC 4391, 5: SendOnlyNonMember); as long as that is not known, and
// where there is no such group, packets go to the partition's broadcast group, which all nodes of
// IP hear, and those that route.
//
// A group ends with its last full member, and another may be made with another LID: it is asked for
// again after 30 s, if it is still sent to. So one by which IPv6 asks for a node is not joined: its
// only member may have started anew, and could not be found meanwhile, nor without a manager; all
// hear that question, as they hear ARP's. One that has not been sent to for five minutes is left.
//
// Bounded: the groups that are remembered, of which the one that was used longest ago gives way;
// the questions that are open, and those that begin in a second. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "ipoib/administration_client.h"
#include "ipoib/allowance.h"
#include "ipoib/broadcast_group.h"
#include "ipoib/group_name.h"
#include "subnet/group_uses.h"

namespace paravane::ipoib {

class SenderGroups {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kMostAsked = 16;
  static constexpr unsigned kMostInSecond = 32;
  static constexpr Duration kLife = std::chrono::seconds(30);
  static constexpr Duration kIdle = std::chrono::minutes(5);

  // All outlive us.
  SenderGroups(subnet::GroupUses& uses, AdministrationClient& client, const TurnClock& clock)
      : uses_(uses), client_(client), clock_(clock) {}
  ~SenderGroups();
  SenderGroups(const SenderGroups&) = delete;
  SenderGroups& operator=(const SenderGroups&) = delete;

  // The group in the partition of `broadcast`; nullptr: packets go to the broadcast group. Valid
  // until the next call.
  const BroadcastGroup* find(const GroupName& name, const BroadcastGroup& broadcast);
  // The partition is no longer in use.
  void forget(const BroadcastGroup& broadcast);
  // Administration has forgotten its members: each is asked for when it is next used, and until
  // then not used.
  void ask_again();
  void on_time(Instant now);
  Instant next_deadline() const;
  std::size_t size() const { return entries_.size(); }
  std::size_t open_questions() const { return asked_; }

 private:
  struct Entry {
    wire::infiniband::Gid gid{};
    BroadcastGroup broadcast{};
    std::optional<BroadcastGroup> group{};
    bool is_user = false;  // as in GroupMemberships
    QuestionId question = QuestionId::kNone;
    Instant asked_until = Instant::min();  // until then it is not asked for again
    Instant last_used{};
  };
  using Order = std::list<Entry>;  // last used first

  Entry& use(const wire::infiniband::Gid& gid, const BroadcastGroup& broadcast);
  void ask(Entry& entry);
  void take(const wire::infiniband::Gid& gid,
            const AdministrationClient::Answer<wire::infiniband::MulticastMember>& answer);
  void cancel(Entry& entry);
  void leave(Order::iterator at);

  subnet::GroupUses& uses_;
  AdministrationClient& client_;
  const TurnClock& clock_;
  Allowance allowance_{kMostInSecond};
  Order by_use_;
  std::map<wire::infiniband::Gid, Order::iterator> entries_;
  std::size_t asked_ = 0;  // of entries_, those with a question
};

}  // namespace paravane::ipoib
