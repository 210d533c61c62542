// Names of the Linux interfaces that Paravane creates. A name that would be too long for Linux is
// truncated and ends in four digits of its hash; two such names may collide, so the caller must
// check for that.

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
