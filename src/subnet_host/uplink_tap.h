// UplinkTap is one of the taps of an IPoIB uplink ("vmnic32"), as the keeper has opened it. Frames
// that a distributed switch sends out of the uplink are read from it, and what is written to it
// comes into the switch.
//
// A frame is an Ethernet frame without a vnet header and without a checksum, at most `mtu` and its
// headers long. The descriptor does not block. Any thread, one at a time.

#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace paravane::subnet_host {

inline constexpr std::uint16_t kGuestVlans = 4095;

struct UplinkTap {
  std::string uplink{};  // "vmnic32"
  std::string vds{};     // the switch; its uplinks are a team
  // Of the frames, which have no tag: one that has a tag is of a guest's making, and is dropped.
  // With `tagged` the tap carries frames of all VLANs, each with its tag, and untagged ones: those
  // of the switch, with 0, or those of VMs that tag their frames themselves, with kGuestVlans.
  std::uint32_t vlan = 0;
  bool tagged = false;
  std::uint32_t mtu = 1500;  // of the switch: bytes behind the Ethernet header and the tag
  UniqueFd tap{};
};

}  // namespace paravane::subnet_host
