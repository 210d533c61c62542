// What a script of state_fuzz does with the next record.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class StateAct : std::uint8_t {
  kNumber,
  kNumberIf,
  kBytes,
  kBytesInto,
  kGroup,
  kEnd,  // of the group
  kCount
};

}  // namespace paravane::fake
