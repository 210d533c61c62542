// ClaimedAddresses: the IP addresses of a VM's MAC address, as the VM has said by ARP and neighbour
// discovery. Other nodes remember the queue pair of an IP address, not its MAC: when the MAC moves
// to another port of a team, they must hear of each of them anew.
//
// claim_frame(): the frame by which a station tells that an IP address is at its MAC.
//
// Bounded: the newest kMost of each kind. Plain values; nothing is allocated but the frames. Any
// thread.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

template <typename Address>
class NewestAddresses {
 public:
  static constexpr std::size_t kMost = 8;

  // The address of no one (all zero) is passed over.
  void add(const Address& address) {
    if (address == Address{}) return;
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(count_);
    auto at = std::find(all_.begin(), end, address);
    if (at == end) {
      count_ = std::min(count_ + 1, kMost);
      at = all_.begin() + static_cast<std::ptrdiff_t>(count_) - 1;
      *at = address;
    }
    std::rotate(all_.begin(), at, at + 1);
  }
  // The newest first.
  std::span<const Address> all() const { return std::span(all_).first(count_); }

 private:
  std::array<Address, kMost> all_{};
  std::size_t count_ = 0;
};

struct ClaimedAddresses {
  NewestAddresses<wire::infiniband::Ipv4Address> ipv4{};
  NewestAddresses<wire::infiniband::Ipv6Address> ipv6{};
};

// The address that the sender of a packet of neighbour discovery has: the target of an
// advertisement, and otherwise the source; nullopt: it says none. REQUIRES: discovery_kind() is
// kPlain.
std::optional<wire::infiniband::Ipv6Address> claimed_by_discovery(
    std::span<const std::byte> packet);

// To all, from `mac`, without a tag: an ARP announcement (RFC 5227, 3), or an unsolicited neighbour
// advertisement (RFC 4861, 7.2.6) that overrides what nodes remember.
std::vector<std::byte> claim_frame(const wire::roce::MacBytes& mac,
                                   const wire::infiniband::Ipv4Address& address);
std::vector<std::byte> claim_frame(const wire::roce::MacBytes& mac,
                                   const wire::infiniband::Ipv6Address& address);

}  // namespace paravane::ipoib
