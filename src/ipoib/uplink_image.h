// UplinkImage: an IPoIB uplink as an engine left it to the one that replaces it: the broadcast
// groups that its port has joined, the queue pairs of its VMs' addresses, the multicast groups that
// these listen to, and the paths that it knows, so that frames pass before the subnet's manager has
// been asked for any of that.
//
// A plain value, which comes from an engine that a guest may have taken over. Loading checks form
// and bounds, and what a manager could not have said; Uplink::adopt() judges whether the port is
// still the same.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "ipoib/broadcast_group.h"
#include "ipoib/own_addresses.h"
#include "ipoib/paths.h"
#include "ipoib/remote_mac.h"
#include "ipoib/wanted_groups.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::ipoib {

struct UplinkImage {
  static constexpr std::size_t kMostPartitions = 128;
  // With those of each partition that all join.
  static constexpr std::size_t kMostGroups = WantedGroups::kMost + 2 * kMostPartitions;
  static constexpr std::size_t kMostCounters = 64;
  static constexpr std::size_t kLongestCounter = 64;

  struct Partition {
    std::uint16_t vlan = 0;
    BroadcastGroup group{};
  };
  struct Address {
    MacBytes mac{};
    std::uint16_t vlan = 0;
    std::uint32_t queue_pair = 0;
    Duration silent{};  // how long ago it was used last; at most OwnAddresses::kIdle
    bool is_answered = false;
  };
  struct Listener {
    WantedGroups::Listener listener{};
    Duration left{};  // until it must have said so again; at most kMembershipLife
  };
  struct KnownPath {
    PathKey key{};
    Path path{};
  };

  std::uint64_t port_guid = 0;
  std::uint16_t lid = 0;  // of the port; the rest holds for no other
  std::vector<Partition> partitions{};
  std::vector<Address> addresses{};   // last used first
  std::vector<Partition> groups{};    // of IP multicast, that it has joined
  std::vector<Listener> listeners{};  // to these
  std::vector<KnownPath> paths{};
  std::vector<std::pair<std::string, std::uint64_t>> counters{};
};

void save(const UplinkImage& image, state::Writer& out);
// All that the reader has. Defaults if it is refused.
UplinkImage load_uplink_image(state::Reader& in);

}  // namespace paravane::ipoib
