// Attributes of a shared receive queue, in CREATE_SRQ, MODIFY_SRQ and QUERY_SRQ.

#pragma once

#include <cstdint>

#include "base/wire_int.h"

namespace paravane::abi {

struct SrqAttributes {
  Le32 max_wr;
  Le32 max_sge;
  Le32 srq_limit;
  Le32 reserved;
};
static_assert(sizeof(SrqAttributes) == 16);

// Which of them MODIFY_SRQ is about.
enum SrqAttributeMask : std::uint32_t {
  kSrqMaxWr = 1,
  kSrqLimit = 2,
};

}  // namespace paravane::abi
