// PortImage: what a port was as an engine left it to the one that replaces it: what a subnet
// manager has written, the state of its link, and what it has counted. IsSM of the capabilities is
// not taken over, as the manager's program says so anew; it tells whether there was one.
//
// A plain value, which comes from an engine that a guest may have taken over: Port::can_be() judges
// it. Numbers inside are in the byte order of the wire, as in PortInfo.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "state/reader.h"
#include "state/writer.h"
#include "subnet/port_totals.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

struct PortImage {
  static constexpr std::size_t kMostPartitions = 1024;

  wire::infiniband::PortInfo info{};
  std::vector<std::uint16_t> partitions{};  // the whole table
  PortTotals totals{};
  std::optional<Duration> lease_left{};  // of the management key; nullopt: it does not run
};

void save(const PortImage& image, state::Writer& out);
// All that the reader has. Defaults if it is refused.
PortImage load_port_image(state::Reader& in);

}  // namespace paravane::subnet
