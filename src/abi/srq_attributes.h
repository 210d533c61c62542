// The attributes of a shared receive queue (SRQ) in the form that the commands CREATE_SRQ,
// MODIFY_SRQ and QUERY_SRQ use.
//
// Source: docs/device-spec.md, section 8.

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

// The attributes that MODIFY_SRQ changes.
enum SrqAttributeMask : std::uint32_t {
  kSrqMaxWr = 1,
  kSrqLimit = 2,
};

}  // namespace paravane::abi
