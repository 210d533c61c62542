// The identifiers of SRP's ports, 16 bytes each, as a login carries them (r16a, annex B) and as an
// operator writes them.
//
// Pure functions; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "wire/srp/login.h"

namespace paravane::srp {

using wire::srp::PortId;

// Of two halves, the one that comes first on the wire before the other.
PortId port_id(std::uint64_t first, std::uint64_t second);

// Of a target: its extension and the GUID of its controller. Targets of revision 10 (`io_class`
// 0xff00) have them the other way round.
PortId target_port_id(std::uint64_t id_ext, std::uint64_t ioc_guid, std::uint16_t io_class);

// "0xfe800000000000000250560001a2b301", which is what LIO's access lists name an initiator by.
std::string to_string(const PortId& id);

}  // namespace paravane::srp
