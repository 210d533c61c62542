// The MAC that stands on the VMs' Ethernet for a queue pair of another node: 02:QQ:QQ:QQ:LL:LL, its
// number and its LID. A frame to that MAC says where it goes without a table.
//
// VMs have MACs of the same kind, and which numbers there are another node decides. So a number
// whose MAC could be one of those that the daemon chooses for VMs (model/mac_address.h:
// 02:50:56:...) has none. An operator may have given a VM any other: the uplink asks for a VM with
// the MAC first, and refuses a queue pair whose MAC is a VM's.
//
// Plain values and pure functions; any thread.

#pragma once

#include <cstdint>
#include <optional>

#include "wire/infiniband/local_route.h"
#include "wire/infiniband/mad.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

using wire::roce::MacBytes;

struct RemoteQueuePair {
  std::uint32_t number = 0;  // 24 bits
  std::uint16_t lid = 0;

  friend bool operator==(const RemoteQueuePair&, const RemoteQueuePair&) = default;
};

inline constexpr std::uint8_t kRemoteMac = 0x02;        // locally administered, of one station
inline constexpr std::uint32_t kNumbersOfVms = 0x5056;  // the highest 16 bits

// Whether it can be one for data, with a LID of its own, that is told from a VM.
constexpr bool has_remote_mac(const RemoteQueuePair& remote) {
  using namespace wire::infiniband;
  return remote.number > kServiceQueuePair && remote.number < kMulticastQueuePair &&
         remote.number >> 8 != kNumbersOfVms && is_unicast_lid(remote.lid);
}

// nullopt: !has_remote_mac(remote).
constexpr std::optional<MacBytes> remote_mac(const RemoteQueuePair& remote) {
  if (!has_remote_mac(remote)) return std::nullopt;
  return MacBytes{kRemoteMac,
                  static_cast<std::uint8_t>(remote.number >> 16),
                  static_cast<std::uint8_t>(remote.number >> 8),
                  static_cast<std::uint8_t>(remote.number),
                  static_cast<std::uint8_t>(remote.lid >> 8),
                  static_cast<std::uint8_t>(remote.lid)};
}

// nullopt: remote_mac() gives no such MAC.
constexpr std::optional<RemoteQueuePair> remote_queue_pair(const MacBytes& mac) {
  const RemoteQueuePair remote{
      .number = (std::uint32_t{mac[1]} << 16) | (std::uint32_t{mac[2]} << 8) | mac[3],
      .lid = static_cast<std::uint16_t>((mac[4] << 8) | mac[5])};
  if (mac[0] != kRemoteMac || !has_remote_mac(remote)) return std::nullopt;
  return remote;
}

}  // namespace paravane::ipoib
