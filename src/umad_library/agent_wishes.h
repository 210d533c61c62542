// Turns the three ways in which a program registers an agent into the door's wish. Functions of
// their arguments; any thread.

#pragma once

#include <cstdint>
#include <optional>

#include "umad/door_protocol.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

// Of the second range of vendors' classes, whose MADs carry their vendor's OUI.
bool is_vendor_with_oui(int management_class);

// `methods`: 128 bits, or nullptr: none.
umad::AgentWish plain_wish(int management_class, int version, std::uint8_t rmpp_version,
                           const long* methods);
umad::AgentWish vendor_wish(int management_class, std::uint8_t rmpp_version,
                            const std::uint8_t oui[3], const long* methods);

// nullopt: flags that are not known, or has_bad_oui().
std::optional<umad::AgentWish> wish_of(const umad_reg_attr& attributes);
bool has_bad_oui(const umad_reg_attr& attributes);

}  // namespace paravane::umad_library
