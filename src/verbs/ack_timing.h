// Decodes the two times that connections negotiate: the RNR NAK timer and the local ACK timeout.

#pragma once

#include <cstdint>

#include "base/instant.h"

namespace paravane::verbs {

// IBTA 9.7.5.2.8, "Encoding for RNR NAK timer field": 0..31; higher bits are ignored.
Duration rnr_wait(std::uint8_t encoded);

// IBTA 9.9.2.1.1, local ACK timeout: 4.096 us * 2^encoded. Zero means "no timeout", and the result
// is zero. Bits above the lowest five are ignored.
Duration ack_timeout(std::uint8_t encoded);

}  // namespace paravane::verbs
