// AdapterModel: what a host adapter can do, as its ports, its speed and its tables are made.
//
// A plain value.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

// Speeds of a lane as bits of the protocol; four lanes give 10, 20 and 40 Gbit/s.
enum class Speed : std::uint8_t { kSingle = 1, kDouble = 2, kQuad = 4 };
constexpr unsigned gbit_of(Speed speed) {
  return 10 * static_cast<unsigned>(speed);
}

struct AdapterModel {
  std::string name;             // "MT26428"
  std::uint16_t device_id = 0;  // of PCI
  std::uint8_t ports = 1;
  Speed speed = Speed::kQuad;
  wire::infiniband::Mtu mtu = wire::infiniband::Mtu::k4096;
  std::uint16_t partitions = 128;
  // Of port 1 and up: those that are of Ethernet and have no link of the subnet. May be shorter.
  std::vector<bool> ethernet{};

  bool is_ethernet(std::size_t port) const {
    return port >= 1 && port <= ethernet.size() && ethernet[port - 1];
  }
};

}  // namespace paravane::subnet
