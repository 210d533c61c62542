// kConfirmAfter: how long subnet administration is believed to know of a membership of a group.
//
// A manager that begins anew knows of no members, and tells each port once to register again. Where
// that does not arrive (a host that heard no manager at that moment, a packet that was lost), it
// knows of none of the port's memberships for good, and no question of another node arrives. So
// each membership is asked for again in time, which changes nothing where it is known.

#pragma once

#include <chrono>

#include "base/instant.h"

namespace paravane::ipoib {

inline constexpr Duration kConfirmAfter = std::chrono::seconds(30);

}  // namespace paravane::ipoib
