// RoceNetworks: two hosts as distributed switches with native RoCE make them: a bridge in a network
// of its own each, joined by a veth pair, and RoCE ports of adapters beside the taps of guests.
//
// REQUIRES: root. One thread.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "bench/two_networks.h"
#include "testing/tap_end.h"

namespace paravane::bench {

// Of the whole network: for packets with 4,096 bytes of payload.
inline constexpr std::uint32_t kRoceMtu = 4300;

// How frames reach a port.
enum class Arrival : std::uint8_t {
  kWhole,  // as superframes, from another port or merged on the way
  kCut,    // packet by packet, as from a native endpoint
};

class RoceNetworks {
 public:
  RoceNetworks();

  // The tap of a new adapter's port, on which frames begin with a vnet header. `adapter`: of
  // mac_of(), used once.
  UniqueFd open_port(unsigned side, std::uint32_t adapter, Arrival arrival);

 private:
  TwoNetworks networks_;
  std::vector<TapEnd> guests_;  // nothing is read from them
};

}  // namespace paravane::bench
