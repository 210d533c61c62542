// The two time encodings that connections negotiate.

#pragma once

#include <cstdint>

#include "base/instant.h"

namespace paravane::verbs {

// IBTA 9.7.5.2.8, "Encoding for RNR NAK timer field": 0..31; higher bits are ignored.
Duration rnr_wait(std::uint8_t encoded);

// IBTA 9.9.2.1.1, local ACK timeout: 4.096 us * 2^encoded. Zero encodes "no
// time-out" and gives zero; higher values than 31 are ignored bits.
Duration ack_timeout(std::uint8_t encoded);

}  // namespace paravane::verbs
