// What an operator is told of the subnet's nodes, as values of model/infiniband.h.
//
// The subnet's thread only.

#pragma once

#include <cstdint>
#include <string>

#include "model/infiniband.h"
#include "subnet/subnet.h"
#include "subnet_host/host_cables.h"

namespace paravane::subnet_host {

// Why a port is not Active, and what to do, as far as the port shows it; empty: it is.
std::string problem_of(const subnet::Port& port);
// The same of an adapter's port, with what the subnet knows of the other end of its link, and of
// subnet managers. `awaits_manager`: one of this host ran until the adapters were restarted, just
// now, and is connected again soon.
std::string problem_of(const subnet::Subnet& subnet, const subnet::HostAdapter& node,
                       subnet::PortNumber port, bool awaits_manager = false);
// Whether a program of this host is a subnet manager, the master or one that stands by.
bool has_manager(const subnet::Subnet& subnet);
// Of its link, in Gbit/s.
std::uint32_t rate_of(const subnet::Port& port);

// `adapter`: as it was added. `node`: one of the subnet's.
model::IbAdapterStatus status_of(const model::IbAdapter& adapter, const subnet::HostAdapter& node,
                                 const subnet::Subnet& subnet, bool awaits_manager = false);
// What is the matter with the line of a cable, InfinibandCables adds.
model::IbFabric fabric_of(const std::string& host, const subnet::Subnet& subnet,
                          const HostCables& cables);

}  // namespace paravane::subnet_host
