// OwnAddresses: the MAC addresses of this side of an uplink, each in a VLAN, and the queue pair
// that stands for each in the subnet: what the other side remembers of a VM is its queue pair's
// number. One is made when the first frame of an address is seen.
//
// The number follows from the address where no other has it, so a VM keeps it when this program is
// started anew, and no VM gets that of another: peers remember them for minutes.
//
// Bounded: when there is no room, the address that has been silent for longest gives way, if it has
// been silent for five minutes, as long as a bridge remembers one. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/instant.h"
#include "ipoib/remote_mac.h"
#include "subnet/queue_pairs.h"

namespace paravane::ipoib {

class OwnAddresses {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr Duration kIdle = std::chrono::minutes(5);

  struct Address {
    MacBytes mac{};
    std::uint16_t vlan = 0;
    std::uint32_t queue_pair = 0;  // none has the number 0
    Instant last_used{};
  };

  // Both outlive us.
  OwnAddresses(subnet::QueuePairs& queue_pairs, subnet::DatagramReceiver& receiver)
      : queue_pairs_(queue_pairs), receiver_(receiver) {}
  ~OwnAddresses();
  OwnAddresses(const OwnAddresses&) = delete;
  OwnAddresses& operator=(const OwnAddresses&) = delete;

  // The address, made with these facts if it is new; nullptr: there is no room. Valid until the
  // next call. Throws std::bad_alloc without a new address.
  const Address* use(const MacBytes& mac, std::uint16_t vlan,
                     const subnet::QueuePairs::Facts& facts, Instant now);
  // nullptr: the queue pair is not one of ours.
  const Address* find(std::uint32_t queue_pair) const;
  // nullptr: it is unknown.
  const Address* find(const MacBytes& mac, std::uint16_t vlan) const;
  // The facts of all in a VLAN.
  void change(std::uint16_t vlan, const subnet::QueuePairs::Facts& facts);
  void forget(std::uint16_t vlan);
  std::size_t size() const { return by_use_.size(); }

 private:
  // The number that it wants; 0: any.
  static std::uint32_t number_for(const MacBytes& mac, std::uint16_t vlan);
  using Order = std::list<Address>;  // last used first
  // False: there is no queue pair for it. What is there of it then is for erase().
  bool complete(Order::iterator fresh, const subnet::QueuePairs::Facts& facts);
  void erase(Order::iterator at);

  subnet::QueuePairs& queue_pairs_;
  subnet::DatagramReceiver& receiver_;
  Order by_use_;
  std::map<std::pair<std::uint16_t, MacBytes>, Order::iterator> by_mac_;
  std::unordered_map<std::uint32_t, Order::iterator> by_queue_pair_;
};

}  // namespace paravane::ipoib
