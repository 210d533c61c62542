// PortTotals: what a port has counted since it was made or since the counter was cleared, as
// performance management reads it (IBTA volume 1, 16.1.3.5).
//
// A plain value.

#pragma once

#include <array>
#include <cstdint>

namespace paravane::subnet {

struct PortTotals {
  std::uint64_t sent_bytes = 0;  // with all headers, without checksums
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_unicast = 0;  // packets
  std::uint64_t received_unicast = 0;
  std::uint64_t sent_multicast = 0;
  std::uint64_t received_multicast = 0;
  std::uint64_t receive_errors = 0;       // malformed, or sent to a port that is not there
  std::uint64_t relay_errors = 0;         // a switch has no way for it
  std::uint64_t send_discards = 0;        // the link is down or its queue full
  std::uint64_t send_constraints = 0;     // a partition is not let out
  std::uint64_t receive_constraints = 0;  // a partition is not let in
  std::uint64_t management_dropped = 0;
  std::uint64_t link_downed = 0;
};

// All of them. Their order is that in which they are saved (port_image.h): new ones follow the
// last.
inline constexpr std::array kPortTotals{
    &PortTotals::sent_bytes,          &PortTotals::received_bytes,
    &PortTotals::sent_unicast,        &PortTotals::received_unicast,
    &PortTotals::sent_multicast,      &PortTotals::received_multicast,
    &PortTotals::receive_errors,      &PortTotals::relay_errors,
    &PortTotals::send_discards,       &PortTotals::send_constraints,
    &PortTotals::receive_constraints, &PortTotals::management_dropped,
    &PortTotals::link_downed,
};
static_assert(sizeof(PortTotals) == kPortTotals.size() * sizeof(std::uint64_t), "all of them");

}  // namespace paravane::subnet
