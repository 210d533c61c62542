// Sets and shows the header that libibumad puts before a MAD (struct ib_user_mad). Functions of
// their arguments; any thread.

#pragma once

#include <cstddef>
#include <cstdint>

#include "umad/door_protocol.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

inline constexpr std::size_t kHeaderBytes = sizeof(ib_user_mad);
static_assert(kHeaderBytes == 64);

void set_address(ib_user_mad& mad, std::uint16_t lid_on_wire, std::uint32_t qp_on_wire, int level,
                 std::uint32_t qkey_on_wire);
// Its flow label is in the host's order, a rule of umad_set_grh(). nullptr: no global route.
void set_global_route(ib_user_mad& mad, const ib_mad_addr* route);

umad::MadAddress to_door_address(const ib_mad_addr& address);
ib_mad_addr from_door_address(const umad::MadAddress& address);

// To stderr, as the functions of these names show it.
void show_address(const ib_mad_addr& address);
void show_header(const ib_user_mad& mad);

}  // namespace paravane::umad_library
