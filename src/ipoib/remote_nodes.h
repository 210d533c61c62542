// RemoteNodes: the queue pairs of other nodes that packets have come from, each in the VLAN of the
// uplink where it was heard. What has been heard is there, which no VM can make so: a VM that sends
// with the MAC of such a queue pair is not it, and paths to its LID are asked for before those to
// LIDs that a VM may have made up.
//
// One is remembered for an hour after its last packet, longer than a VM has it in its tables.
// Bounded: when there is no room, the one that has been silent for longest is forgotten. The
// subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "base/instant.h"
#include "ipoib/remote_mac.h"

namespace paravane::ipoib {

class RemoteNodes {
 public:
  static constexpr std::size_t kMost = 4096;
  static constexpr Duration kLife = std::chrono::hours(1);

  // Throws std::bad_alloc: it is not remembered.
  void heard(std::uint16_t vlan, const RemoteQueuePair& from, Instant now);
  bool knows(std::uint16_t vlan, const RemoteQueuePair& remote, Instant now) const;
  // Whether any queue pair at the LID is known in the VLAN.
  bool knows(std::uint16_t vlan, std::uint16_t lid, Instant now) const;
  void forget(std::uint16_t vlan);
  // LIDs have been given anew.
  void clear();
  std::size_t size() const { return by_name_.size(); }

 private:
  struct Name {
    std::uint16_t vlan = 0;
    std::uint16_t lid = 0;
    std::uint32_t number = 0;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Node {
    Name name{};
    Instant last_heard{};
  };
  using Order = std::list<Node>;  // last heard first
  static bool lives(const Node& node, Instant now) { return now - node.last_heard < kLife; }
  void erase(std::map<Name, Order::iterator>::iterator at);

  Order by_time_;
  std::map<Name, Order::iterator> by_name_;
};

}  // namespace paravane::ipoib
