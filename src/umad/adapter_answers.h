// What programs are told of this host's virtual adapters, as AdapterFacts and PortFacts of the umad
// door (door_protocol.h).
//
// Pure functions; the subnet's thread only.

#pragma once

#include "subnet/host_adapter.h"
#include "umad/door_protocol.h"

namespace paravane::umad {

// Cut to what fits.
Name name_of(std::string_view text);
std::string text_of(const Name& name);

AdapterFacts facts_of(const subnet::HostAdapter& adapter);
// REQUIRES: a port of the adapter.
PortFacts facts_of(const subnet::HostAdapter& adapter, subnet::PortNumber number);

}  // namespace paravane::umad
