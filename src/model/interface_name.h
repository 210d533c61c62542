// What Paravane calls the interfaces of Linux that it makes. A name that would be
// longer than Linux allows is cut and ends in four digits of its hash; two of them
// may then be the same, which whoever makes them must look at.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paravane::model {

// "pv-db1", of a further adapter "pv-db1.2": the tap of an adapter.
std::string tap_name(std::string_view vm, std::uint32_t adapter = 1);

// "vmk1-port": the end of a VMkernel interface that is on a bridge.
std::string vmknic_port_name(std::string_view vmknic);

// "pvs-lan": the bridge of a switch, and the one of its untagged port groups where
// each VLAN has its own.
std::string bridge_name(std::string_view vds);
// "pvs-lan+10": that of a VLAN. No switch's name has a plus sign.
std::string bridge_name(std::string_view vds, std::uint32_t vlan);

}  // namespace paravane::model
