// Membership: a port's full membership of a partition's broadcast group, which is what makes the
// partition usable for IP (RFC 4391, section 5). It joins as soon as the port is active and has the
// partition's key, joins again when the subnet manager wants that and in time in any case
// (confirmation.h), and tries again after 1 s to 16 s when it could not.
//
// VLAN N is the partition 0x8000 + N, and untagged frames go with the key at index 0 of the port's
// table. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "ipoib/administration_client.h"
#include "ipoib/broadcast_group.h"
#include "subnet/host_adapter.h"

namespace paravane::ipoib {

class Membership {
 public:
  enum class State : std::uint8_t {
    kNoLink,  // the port is not active
    kNoKey,   // the port's table lacks the partition
    kJoining,
    kJoined,
    kRefused,  // and tries again later; why() says why
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    // It was joined, lost, or the group has changed. The membership may be read from there.
    virtual void on_membership(Membership& membership) = 0;
  };

  static constexpr Duration kFirstRetry = std::chrono::seconds(1);
  static constexpr Duration kLastRetry = std::chrono::seconds(16);

  // All outlive us. Follows the port from the first on_port_change() on.
  Membership(subnet::HostAdapter& adapter, subnet::PortNumber port, AdministrationClient& client,
             const TurnClock& clock, std::uint16_t vlan, Listener& listener);
  // Leaves the group, also one that it is about to join, unless the port has another user of it.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  std::uint16_t vlan() const { return vlan_; }
  State state() const { return state_; }
  // The key with which it joins or has joined; 0: it does neither.
  std::uint16_t partition() const { return key_; }
  // nullptr: it is not joined.
  const BroadcastGroup* group() const { return group_ ? &*group_ : nullptr; }
  // With kRefused, in words.
  std::string why() const;

  // An engine before has joined this group: it is used, and joined again. False: the port is not
  // what the group was joined with.
  bool adopt(const BroadcastGroup& group);

  // The port's state, its LID or its partitions may have changed.
  void on_port_change();
  // Administration has forgotten its members.
  void on_register_again();
  void on_time(Instant now);
  // kNever: nothing is due.
  Instant next_deadline() const;

 private:
  // The partition's key in the port's table, a full member's if there are both; 0: none.
  std::uint16_t key() const;
  std::uint16_t full_key() const;
  subnet::GroupUses::Group group_used() const;
  void join();
  void leave();
  // It is a member no longer, and need not say so.
  void let_go();
  void take(const AdministrationClient::Answer<wire::infiniband::MulticastMember>& answer);
  void fail(const AdministrationFailure& failure);
  void retry_later();
  void lose(State state);

  subnet::HostAdapter& adapter_;
  const subnet::PortNumber port_;
  AdministrationClient& client_;
  const TurnClock& clock_;
  const std::uint16_t vlan_;
  Listener& listener_;
  State state_ = State::kNoLink;
  std::uint16_t key_ = 0;  // with which it joins or has joined
  std::uint16_t lid_ = 0;  // of the port at that time
  // It is one of those for which the port is, or becomes, a member.
  bool is_user_ = false;
  std::optional<BroadcastGroup> group_;
  bool was_refused_ = false;  // the last time that it was confirmed
  QuestionId question_ = QuestionId::kNone;
  AdministrationFailure failure_{};
  std::optional<BadGroup> bad_group_;
  Duration retry_ = kFirstRetry;
  Instant due_ = kNever;
};

}  // namespace paravane::ipoib
