// OwnAddresses: the MAC addresses of this side of an uplink, each in a VLAN, and the queue pair
// that stands for each in the subnet: what the other side remembers of a VM is its queue pair's
// number. One is made when the first frame of an address is seen.
//
// The number follows from the address where no other has it, so a VM keeps it when this program is
// started anew, and no VM gets that of another: peers remember them for minutes.
//
// Bounded. A VM may send from any MAC and as many as it likes, so when there is no room one gives
// way, the first that there is of these:
//   1. the longest silent of all, if it has been silent for five minutes, as long as a bridge
//      remembers one;
//   2. one that has had no packet since it was made, as the many of a flood have none: the longest
//      silent of the VLAN that has most of these. A VM that talks with others keeps its place;
//   3. for a VLAN with fewer than eight addresses, the longest silent of the VLAN that has most. So
//      no VLAN keeps another one out by addresses that have had packets.
//
// How fast addresses come is not bounded: a bound would be used up by a flood, too, and then refuse
// the first frame of a VM that has just begun. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "ipoib/claimed_addresses.h"
#include "ipoib/remote_mac.h"
#include "subnet/queue_pairs.h"

namespace paravane::ipoib {

class OwnAddresses {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kOfEachVlan = 8;
  static constexpr Duration kIdle = std::chrono::minutes(5);

  struct Address {
    MacBytes mac{};
    std::uint16_t vlan = 0;
    std::uint32_t queue_pair = 0;  // none has the number 0
    Instant last_used{};
    bool is_answered = false;  // a packet has come to it
    ClaimedAddresses claims{};
  };

  // Both outlive us.
  OwnAddresses(subnet::QueuePairs& queue_pairs, subnet::DatagramReceiver& receiver)
      : queue_pairs_(queue_pairs), receiver_(receiver) {}
  ~OwnAddresses();
  OwnAddresses(const OwnAddresses&) = delete;
  OwnAddresses& operator=(const OwnAddresses&) = delete;

  // The address, made with these facts if it is new; nullptr: there is no room. Valid until the
  // next call of use() or forget(). Throws std::bad_alloc without a new address.
  const Address* use(const MacBytes& mac, std::uint16_t vlan,
                     const subnet::QueuePairs::Facts& facts, Instant now);
  // A packet came to its queue pair alone. One that is not ours is ignored.
  void answered(std::uint32_t queue_pair);
  // How many were made so far.
  std::uint64_t made() const { return made_; }
  // Where what a VM says of an address is kept; nullptr: it is unknown.
  ClaimedAddresses* claims_of(const MacBytes& mac, std::uint16_t vlan);
  // Forgets the address. nullopt: it is unknown.
  std::optional<ClaimedAddresses> give_up(const MacBytes& mac, std::uint16_t vlan);
  // nullptr: the queue pair is not one of ours.
  const Address* find(std::uint32_t queue_pair) const;
  // nullptr: it is unknown.
  const Address* find(const MacBytes& mac, std::uint16_t vlan) const;
  // ---- From one engine to the next ----
  // Last used first.
  std::vector<Address> all() const;
  // One that the engine before had, with its queue pair's number where that is free. False: it is
  // there already, or there is no room. Throws std::bad_alloc: it may be there with another number.
  bool adopt(const Address& address, const subnet::QueuePairs::Facts& facts);

  // The facts of all in a VLAN.
  void change(std::uint16_t vlan, const subnet::QueuePairs::Facts& facts);
  void forget(std::uint16_t vlan);
  std::size_t size() const { return by_mac_.size(); }

 private:
  // The number that it wants; 0: any.
  static std::uint32_t number_for(const MacBytes& mac, std::uint16_t vlan);
  using Order = std::list<Address>;  // last used first
  // Of a VLAN.
  struct Share {
    Order answered{};
    Order unanswered{};
    std::size_t size() const { return answered.size() + unanswered.size(); }
    bool empty() const { return answered.empty() && unanswered.empty(); }
    // REQUIRES: it is not empty.
    Order::iterator longest_silent();
  };
  Order& order_of(const Address& address);
  // False: each keeps its place.
  bool make_room(std::uint16_t vlan, Instant now);
  // False: there is no queue pair for it. What is there of it then is for erase().
  bool complete(Order::iterator fresh, const subnet::QueuePairs::Facts& facts);
  void erase(Order::iterator at);

  subnet::QueuePairs& queue_pairs_;
  subnet::DatagramReceiver& receiver_;
  std::map<std::uint16_t, Share> shares_;  // by VLAN; none is empty between calls
  std::uint64_t made_ = 0;
  std::map<std::pair<std::uint16_t, MacBytes>, Order::iterator> by_mac_;
  std::unordered_map<std::uint32_t, Order::iterator> by_queue_pair_;
};

}  // namespace paravane::ipoib
