// The input of subnet_state_fuzz, for it and its seeds: a byte that says which of SubnetStatePart
// is changed, then changes of its records (state_changes.h).

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class SubnetStatePart : std::uint8_t { kSubnet, kUplink, kCount };

}  // namespace paravane::fake
