// GroupMemberships: the IP multicast groups, besides the broadcast group, of which a port is a full
// member in the partitions of its VLANs (RFC 4391, 5). One that does not exist is made as the
// partition's broadcast group is: with its Q_Key, MTU, rate, service level, traffic class, flow
// label and hop limit. What arrives for a group goes to the queue pair that hears the broadcast
// group.
//
// A group that was joined is asked for again in time (confirmation.h), and meanwhile stays in use.
// A group that administration refuses, or that has another Q_Key or MTU, is tried again after 1 s
// to 64 s: its packets come by the broadcast group (sender_groups.h), or do not come.
//
// Bounded by those that name groups; at most kMostAsked questions are open, and kMostInSecond begin
// in a second. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "ipoib/administration_client.h"
#include "ipoib/allowance.h"
#include "ipoib/broadcast_group.h"
#include "ipoib/wanted_groups.h"
#include "subnet/host_adapter.h"

namespace paravane::ipoib {

class GroupMemberships {
 public:
  static constexpr std::size_t kMostAsked = 16;
  static constexpr unsigned kMostInSecond = 64;
  static constexpr Duration kFirstRetry = std::chrono::seconds(1);
  static constexpr Duration kLastRetry = std::chrono::seconds(64);

  // All outlive us.
  GroupMemberships(subnet::HostAdapter& adapter, subnet::PortNumber port,
                   AdministrationClient& client, const TurnClock& clock)
      : queue_pairs_(adapter.queue_pairs(port)),
        uses_(adapter.group_uses(port)),
        client_(client),
        clock_(clock) {}
  ~GroupMemberships();
  GroupMemberships(const GroupMemberships&) = delete;
  GroupMemberships& operator=(const GroupMemberships&) = delete;

  // The VLAN's partition is in use: its groups are joined, also those that are added later, and
  // `listener` hears them. If it was in use, it is `listener` from now on.
  void start(std::uint16_t vlan, const BroadcastGroup& broadcast, std::uint32_t listener);
  // It no longer is. The groups stay named.
  void stop(std::uint16_t vlan);
  void forget(std::uint16_t vlan);

  void add(const VlanGroup& group);
  // An engine before has joined it, with these facts: it is used, and joined again, if they hold
  // for the VLAN when that is in use. REQUIRES: it is not in use.
  void adopt(const VlanGroup& group, const BroadcastGroup& joined);
  void remove(const VlanGroup& group);

  // nullptr: it is not joined. Valid until the next call.
  const BroadcastGroup* find(const VlanGroup& group) const;
  // Each that is joined.
  std::vector<std::pair<VlanGroup, BroadcastGroup>> all_joined() const;
  // Administration has forgotten its members.
  void register_again();
  void on_time(Instant now);
  Instant next_deadline() const;
  std::size_t size() const { return entries_.size(); }
  std::size_t open_questions() const { return asked_; }

 private:
  struct Partition {
    BroadcastGroup broadcast{};
    std::uint32_t listener = 0;
  };
  struct Entry {
    std::optional<BroadcastGroup> group{};  // joined
    bool was_refused = false;               // the last time
    // It is one of those for which the port is, or becomes, a member.
    bool is_user = false;
    QuestionId question = QuestionId::kNone;
    Duration retry = kFirstRetry;
    Instant due = kNever;
  };
  const Partition* partition_of(std::uint16_t vlan) const;
  void plan(Entry& entry, Instant due);
  void ask(const VlanGroup& key, Entry& entry, const BroadcastGroup& broadcast);
  void take(const VlanGroup& key,
            const AdministrationClient::Answer<wire::infiniband::MulticastMember>& answer);
  void retry_later(Entry& entry);
  void find_next();
  void lose(const Partition& partition, Entry& entry);
  // Leaves what is joined or about to be, unless the port has another user of it.
  void leave(const VlanGroup& key, Entry& entry);
  void cancel(Entry& entry);

  subnet::QueuePairs& queue_pairs_;
  subnet::GroupUses& uses_;
  AdministrationClient& client_;
  const TurnClock& clock_;
  Allowance allowance_{kMostInSecond};
  std::map<std::uint16_t, Partition> partitions_;  // by VLAN
  std::map<VlanGroup, Entry> entries_;
  std::size_t asked_ = 0;  // of entries_, those with a question
  Instant next_ = kNever;  // no entry is due before
};

}  // namespace paravane::ipoib
