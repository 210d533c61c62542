// The number of the network of a port group: the same on every host that knows the port group. Two
// port groups with the same switch and VLAN are one network.
//
// Any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/distributed_switch.h"

namespace paravane::model {

// Never 0. nullopt: there is no such port group.
std::optional<std::uint64_t> segment_number(const Network& network, const std::string& port_group);

// Of a network that only `adapter` is in, as its port group is gone. Never 0.
std::uint64_t lone_segment_number(std::string_view adapter);

}  // namespace paravane::model
