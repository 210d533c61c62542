// Derives the names of the Linux interfaces that Paravane creates. If a name would be too long for
// Linux, it is truncated and ends in four digits of a hash of the full name. Two such names can be
// equal, so the caller must check for that.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paravane::model {

// The tap of an adapter: "pv-db1" for the first adapter of VM db1, "pv-db1.2" for the second.
std::string tap_name(std::string_view vm, std::uint32_t adapter = 1);

// The RoCE port of an adapter: "pvr-db1", "pvr-db1.2".
std::string roce_port_name(std::string_view vm, std::uint32_t adapter = 1);
// Both ends of the pair of interfaces that merges packets before that port: "pvm-db1", which does
// so, and "pvf-db1", which fills in their checksums.
std::string merging_end_name(std::string_view vm, std::uint32_t adapter = 1);
std::string filling_end_name(std::string_view vm, std::uint32_t adapter = 1);

// The side of a VMkernel interface that is attached to a bridge: "vmk1-port".
std::string vmknic_port_name(std::string_view vmknic);

// The bridge on which the port of a team's uplink stands by: "pvs-+eth2".
std::string parking_bridge_name(std::string_view port);
// A tap of an IPoIB uplink: "vmnic32+10" for the frames of VLAN 10, and "vmnic32" for those without
// a tag or, if one tap carries all VLANs, for all.
std::string uplink_tap_name(std::string_view uplink, std::uint32_t vlan);

// The bridge of a switch: "pvs-lan". If each VLAN has its own bridge, this one is for the untagged
// port groups.
std::string bridge_name(std::string_view vds);
// The bridge of a VLAN: "pvs-lan+10". The name of a switch cannot contain a plus sign.
std::string bridge_name(std::string_view vds, std::uint32_t vlan);

}  // namespace paravane::model
