// Turns what the door answers about adapters into what libibumad's callers know: untrusted bytes
// become values here, once. Functions of their arguments; any thread.

#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "umad/door_protocol.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

// nullopt: no adapter can have this name.
std::optional<umad::Name> to_door_name(std::string_view name);
// nullopt: it has no end, or characters that no adapter's name has.
std::optional<std::string> from_door_name(const umad::Name& name);

// Sorted. Errors: EPROTO.
std::expected<std::vector<std::string>, int> names_of(const umad::AdapterNames& answer);

// Both give 0 or an errno: EPROTO (no such adapter or port can be), ENOMEM. Port's partitions are
// the caller's, for release_port(); `ca` gets no ports.
int fill_ca(const umad::AdapterFacts& facts, const std::string& name, umad_ca_t& ca);
int fill_port(const umad::PortFacts& facts, const std::string& name, int portnum,
              umad_port_t& port);

void release_port(umad_port_t& port);
// Its ports too.
void release_ca(umad_ca_t& ca);

}  // namespace paravane::umad_library
