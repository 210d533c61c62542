// SubnetParcel is what an engine leaves of its part of an InfiniBand subnet to the engine that
// replaces it: the subnet itself (subnet/subnet_image.h), and each IPoIB uplink that has a tap
// (ipoib/uplink_image.h). It travels as records (state/tag.h) of a version.
//
// The bytes are untrusted: a guest may have taken the engine over that wrote them.
//
// Plain values and functions of their arguments; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ipoib/uplink_image.h"
#include "subnet/subnet_image.h"

namespace paravane::subnet_host {

struct SubnetParcel {
  subnet::SubnetImage subnet{};
  std::map<std::string, ipoib::UplinkImage> uplinks{};  // by their names
};

// A release that reads no other begins the subnet anew.
inline constexpr std::uint32_t kSubnetParcelVersion = 1;
// All that a subnet can have is less: 16 uplinks of some 300 KB, and the switch.
inline constexpr std::size_t kMostSubnetParcelBytes = std::size_t{8} << 20;

std::vector<std::byte> write_subnet_parcel(const SubnetParcel& parcel);
// Errors: kUnsupported (another version), kInvalidArgument (what no engine writes).
Result<SubnetParcel> read_subnet_parcel(std::span<const std::byte> bytes);

}  // namespace paravane::subnet_host
