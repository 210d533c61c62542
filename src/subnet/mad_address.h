// MadAddress: to where a management datagram goes, or from where it came. It is always the peer, as
// one sends to it: the destination of its global route is the peer's GID, also of what has arrived.
//
// A plain value.

#pragma once

#include <cstdint>
#include <optional>

#include "wire/infiniband/datagram.h"

namespace paravane::subnet {

struct MadAddress {
  std::uint16_t lid = 0;
  std::uint32_t qp = 0;
  std::uint32_t qkey = 0;
  std::uint8_t level = 0;      // service level
  std::uint8_t path_bits = 0;  // of our LID
  std::uint16_t partition_index = 0;
  // `source` is not read when it is sent: it is then the sending port's GID.
  std::optional<wire::infiniband::GlobalRoute> global{};

  friend bool operator==(const MadAddress&, const MadAddress&) = default;
};

}  // namespace paravane::subnet
