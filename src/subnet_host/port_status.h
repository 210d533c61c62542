// What an operator is told of the subnet's nodes, as values of model/infiniband.h.
//
// The subnet's thread only.

#pragma once

#include <cstdint>
#include <string>

#include "model/infiniband.h"
#include "subnet/subnet.h"

namespace paravane::subnet_host {

// Why a port is not Active, and what to do; empty: it is.
std::string problem_of(const subnet::Port& port);
// Of its link, in Gbit/s.
std::uint32_t rate_of(const subnet::Port& port);

// `adapter`: as it was added.
model::IbAdapterStatus status_of(const model::IbAdapter& adapter, const subnet::HostAdapter& node);
model::IbFabric fabric_of(const std::string& host, const subnet::Subnet& subnet);

}  // namespace paravane::subnet_host
