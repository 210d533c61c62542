// TrunkAddress describes a queue pair to the other end of its trunk.
//
// Plain values.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/lane_frames.h"

namespace paravane::transport_hca {

struct TrunkAddress {
  std::uint32_t qpn = 0;                                // 24 bits
  std::uint32_t psn = 0;                                // of its first packet; 24 bits
  std::array<std::uint32_t, wire::kLanes> lane_qpns{};  // of its lanes, from 1
  std::array<std::byte, 16> gid{};                      // of the adapter's port; RoCE v2
  bool is_infiniband = false;                           // else Ethernet
  std::uint16_t lid = 0;                                // InfiniBand only
  std::uint32_t path_mtu_bytes = 256;                   // 256 to 4096, a power of 2

  bool operator==(const TrunkAddress&) const = default;
};

}  // namespace paravane::transport_hca
