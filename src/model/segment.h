// Calculates the number of the network that a port group belongs to. The number is the same on
// every host that knows the port group. Port groups with the same switch and VLAN belong to one
// network.
//
// Any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/distributed_switch.h"

namespace paravane::model {

// The result is never 0. nullopt: there is no such port group, or its VMs tag their frames
// themselves, and it has no RDMA.
std::optional<std::uint64_t> segment_number(const Network& network, const std::string& port_group);

// The number of a network that contains only `adapter`, for an adapter whose port group does not
// exist or has no RDMA. Never 0.
std::uint64_t lone_segment_number(std::string_view adapter);

}  // namespace paravane::model
